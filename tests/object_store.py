"""An object store on this machine, which speaks S3, as moto has one."""

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_SERVER = """
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
input()
"""
_KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}


@contextlib.contextmanager
def object_store(folder: Path, bucket: str) -> Iterator[dict[str, str]]:
    """Serve a fleet's tables as s3://BUCKET/fleet; give the environment that leads there."""
    import boto3

    with subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, env={**os.environ, **_KEYS},
    ) as server:  # fmt: skip
        try:
            assert server.stdout is not None
            assert select.select([server.stdout], [], [], 120)[0], "the server did not start"
            address = f"http://127.0.0.1:{int(server.stdout.readline())}"
            client = boto3.client(
                "s3", endpoint_url=address, region_name=_KEYS["AWS_REGION"],
                aws_access_key_id="a", aws_secret_access_key="b",
            )  # fmt: skip
            client.create_bucket(Bucket=bucket)
            for table in folder.glob("*.parquet"):
                client.upload_file(str(table), bucket, f"fleet/{table.name}")
            yield {**_KEYS, "AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true"}
        finally:
            server.kill()
