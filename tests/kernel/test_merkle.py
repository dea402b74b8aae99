"""Merkle trees: as RFC 9162 defines them, and a path proves one leaf at one place only."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.kernel.merkle import MerkleTree, root_of

LEAVES = [
    bytes.fromhex(leaf)
    for leaf in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
"""The leaves and the roots of their first 0 to 8, with which Certificate Transparency tests its logs."""
PATH = [
    "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
    "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
]
"""The path of the first of the eight leaves, from there too."""


def hashed(data: bytes) -> bytes:
    """Return the SHA-256 of `data`."""
    return hashlib.sha256(data).digest()


def split(count: int) -> int:
    """Return the largest power of two smaller than `count`."""
    return 1 << (count - 1).bit_length() - 1


def naive_root(leaves: list[bytes]) -> bytes:
    """MTH of RFC 9162, 2.1.1, word by word."""
    if len(leaves) < 2:
        return hashed(b"\x00" + leaves[0]) if leaves else hashed(b"")
    k = split(len(leaves))
    return hashed(b"\x01" + naive_root(leaves[:k]) + naive_root(leaves[k:]))


def naive_path(index: int, leaves: list[bytes]) -> list[bytes]:
    """PATH of RFC 9162, 2.1.3.1, word by word."""
    if len(leaves) < 2:
        return []
    k = split(len(leaves))
    if index < k:
        return [*naive_path(index, leaves[:k]), naive_root(leaves[k:])]
    return [*naive_path(index - k, leaves[k:]), naive_root(leaves[:k])]


def path_of(tree: MerkleTree, index: int) -> list[bytes]:
    """The path of one leaf, as hashes."""
    return [bytes.fromhex(node) for node in tree.paths(bytes.hex)[index].split(".")[1:]]


@pytest.mark.parametrize("count", range(9))
def test_the_known_roots(count: int) -> None:
    """The roots are those that all logs of Certificate Transparency have."""
    assert ROOTS[count] == MerkleTree(LEAVES[:count]).root.hex()


def test_a_known_path() -> None:
    """The path of a leaf is that of Certificate Transparency."""
    assert PATH == [node.hex() for node in path_of(MerkleTree(LEAVES), 0)]


@given(st.lists(st.binary(max_size=3), max_size=70))
def test_a_tree_is_that_of_the_rfc(leaves: list[bytes]) -> None:
    """Root and paths are those of the recursive definition, and every path leads to the root."""
    tree = MerkleTree(leaves)
    assert naive_root(leaves) == tree.root
    for index, leaf in enumerate(leaves):
        path = path_of(tree, index)
        assert naive_path(index, leaves) == path
        assert tree.root == root_of(leaf, index, len(leaves), path)


def leads(leaf: bytes, index: int, size: int, path: list[bytes], root: bytes) -> bool:
    """Return whether a path leads to `root`."""
    try:
        return root_of(leaf, index, size, path) == root
    except ValueError:
        return False


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 8, 11, 16, 17])
def test_every_bit_of_a_proof_counts(size: int) -> None:
    """With any bit of the leaf, the path or the root changed, or at any other place, a path does not lead to the root."""
    leaves = [bytes([number]) for number in range(size)]
    tree = MerkleTree(leaves)
    for index, leaf in enumerate(leaves):
        path = path_of(tree, index)
        assert leads(leaf, index, size, path, tree.root)
        assert not any(leads(leaf, other, size, path, tree.root) for other in range(-2, 2 * size + 2) if other != index)
        assert not any(leads(bytes([leaf[0] ^ 1 << bit]), index, size, path, tree.root) for bit in range(8))
        for place, node in enumerate(path):
            for bit in range(256):
                assert not leads(leaf, index, size, [*path[:place], flipped(node, bit), *path[place + 1 :]], tree.root)
        assert not any(leads(leaf, index, size, path, flipped(tree.root, bit)) for bit in range(256))


def flipped(node: bytes, bit: int) -> bytes:
    """Return a hash with one bit changed."""
    return (int.from_bytes(node) ^ 1 << bit).to_bytes(32)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 11])
def test_a_path_has_the_one_length_that_its_place_demands(size: int) -> None:
    """A path that was cut or made longer leads nowhere, even if it would end at the root."""
    leaves = [bytes([number]) for number in range(size)]
    tree = MerkleTree(leaves)
    for index, leaf in enumerate(leaves):
        path = path_of(tree, index)
        with pytest.raises(ValueError, match=r"^the path is too long$"):
            root_of(leaf, index, size, [*path, tree.root])
        if path:
            with pytest.raises(ValueError, match=r"^the path is too short$"):
                root_of(leaf, index, size, path[:-1])
        for other in (-1, size, size + 1):
            with pytest.raises(ValueError, match=f"a tree of {size} leaves has none at {other}"):
                root_of(leaf, other, size, path)


def test_a_node_is_no_leaf() -> None:
    """The hashes of two leaves side by side are not taken for a leaf."""
    tree = MerkleTree([b"a", b"b"])
    [right], [left] = path_of(tree, 0), path_of(tree, 1)
    assert tree.root not in (MerkleTree([left + right]).root, root_of(left + right, 0, 1, []))


def test_a_path_has_no_more_than_the_height_of_the_tree() -> None:
    """A path grows with the logarithm of the size."""
    tree = MerkleTree(bytes([number % 256]) for number in range(512))
    assert {9} == {len(path_of(tree, index)) for index in range(512)}


def test_each_hash_is_written_once() -> None:
    """The paths of 128 leaves share the text of each hash: 254 texts, not 7 for each leaf."""
    written: list[bytes] = []

    def text(node: bytes) -> str:
        written.append(node)
        return node.hex()

    MerkleTree([bytes([number]) for number in range(128)]).paths(text)
    assert 254 == len(written) == len(set(written))
