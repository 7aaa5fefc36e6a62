"""A certificate for 127.0.0.1 and the authority that signed it, made for each test."""

import datetime
import ipaddress
from collections.abc import Mapping
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def certificate(folder: Path) -> Mapping[str, Path]:
    """The files `ca`, `server` (signed by it, for 127.0.0.1) and their keys, `ca key` and `server key`."""
    day, now = datetime.timedelta(days=1), datetime.datetime.now(datetime.UTC)
    keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("ca", "server")}
    files = {}
    for name in ("ca", "server"):
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
        builder = (
            x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(keys[name].public_key())
        )
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - day).not_valid_after(now + day)
        builder = builder.add_extension(x509.BasicConstraints(ca=name == "ca", path_length=None), critical=True)
        address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        signed = builder.add_extension(address, critical=False).sign(keys["ca"], hashes.SHA256())
        files[name] = folder / f"{name}.crt"
        files[name].write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        files[f"{name} key"] = folder / f"{name}.key"
        files[f"{name} key"].write_bytes(
            keys[name].private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
    return files
