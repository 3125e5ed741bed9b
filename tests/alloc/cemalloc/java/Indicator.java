import cemalloc.Cemalloc;
import java.nio.ByteBuffer;

/** A thread says where its memory goes: 16 MiB of two direct buffers are placed. */
class Indicator {
  static ByteBuffer filled() {
    final ByteBuffer buffer = ByteBuffer.allocateDirect(16 << 20);
    for (int at = 0; at < buffer.capacity(); at += 4096) buffer.put(at, (byte) 1);
    return buffer;
  }

  static void expect(Cemalloc cemalloc, String mode) {
    if (!cemalloc.GetMemoryMode().name().equals(mode)) throw new AssertionError(mode);
  }

  public static void main(String[] arguments) {
    final Cemalloc cemalloc = new Cemalloc();
    expect(cemalloc, "HOST");
    final ByteBuffer host = filled();
    cemalloc.SetCxlMemory();
    expect(cemalloc, "CXL");
    final ByteBuffer cxl = filled();
    cemalloc.SetHostMemory();
    expect(cemalloc, "HOST");
    System.out.println(host.get(0) + cxl.get(0));
  }
}
