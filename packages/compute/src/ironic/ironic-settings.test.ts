import { expect, it } from 'vitest';
import { readIronicSettings } from './ironic-settings.ts';

const sha256 = 'a'.repeat(64);
const cuda = { url: 'https://images.example.com/cuda.qcow2', sha256 };

it('readIronicSettings reads images with checksums, each with an optional user', () => {
  const settings = readIronicSettings({
    images: {
      cuda,
      plain: { ...cuda, sha256: undefined, sha512: 'b'.repeat(128), diskFormat: 'raw', sshUser: 'debian' },
    },
    cudaImages: { 'cuda12.8': 'cuda' },
    defaultImage: 'plain',
    fabric: 'ib-1',
    owner: 'eu',
  });
  expect(settings).toEqual({
    owner: 'eu',
    images: {
      cuda: {
        url: cuda.url,
        hash: { algorithm: 'sha256', value: sha256 },
        diskFormat: 'qcow2',
        sshUser: 'ubuntu',
      },
      plain: {
        url: cuda.url,
        hash: { algorithm: 'sha512', value: 'b'.repeat(128) },
        diskFormat: 'raw',
        sshUser: 'debian',
      },
    },
  });
});

it.each([
  ['no images', { images: {} }, 'must name at least one image'],
  ['an image without a checksum', { images: { a: { url: cuda.url } } }, 'needs sha256 or sha512'],
  ['an invalid checksum', { images: { a: { ...cuda, sha256: 'x' } } }, '64 hexadecimal'],
  ['an invalid URL', { images: { a: { ...cuda, url: 'not a url' } } }, 'http(s) or file'],
  ['an unsupported URL scheme', { images: { a: { ...cuda, url: 'ftp://x/y' } } }, 'http(s) or file'],
  [
    'a CUDA version whose image is missing',
    { images: { a: cuda }, cudaImages: { 'cuda12.8': 'b' } },
    'not among the images',
  ],
  ['a missing default image', { images: { a: cuda }, defaultImage: 'b' }, 'not among the images'],
  ['an invalid user name', { images: { a: cuda }, sshUser: 'root; id' }, 'a valid user name'],
  ['an unknown setting', { images: { a: cuda }, imgaes: {} }, 'imgaes'],
])('readIronicSettings refuses %s and gives the reason', (_title, written, reason) => {
  expect(() => readIronicSettings(written)).toThrow(reason);
});
