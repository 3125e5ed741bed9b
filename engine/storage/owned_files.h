#pragma once
namespace tierscope {
class FilePool {};
class OwnedFile {};
}
