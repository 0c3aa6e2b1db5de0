import { expect, it } from 'vitest';
import { readIronicSettings } from './ironic-settings.ts';

const sha256 = 'a'.repeat(64);
const cuda = { url: 'https://images.example.com/cuda.qcow2', sha256 };

it('images are read with their sums, and each may have a user of its own', () => {
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
  ['no image', { images: {} }, 'names no image'],
  ['an image without a sum', { images: { a: { url: cuda.url } } }, 'needs sha256 or sha512'],
  ['a sum that is none', { images: { a: { ...cuda, sha256: 'x' } } }, '64 hexadecimal'],
  [
    'a URL that Ironic would answer with 500',
    { images: { a: { ...cuda, url: 'not a url' } } },
    'http(s) or file',
  ],
  ['a scheme that nodes cannot fetch', { images: { a: { ...cuda, url: 'ftp://x/y' } } }, 'http(s) or file'],
  [
    'a CUDA whose image is not there',
    { images: { a: cuda }, cudaImages: { 'cuda12.8': 'b' } },
    'not among the images',
  ],
  ['a default that is not there', { images: { a: cuda }, defaultImage: 'b' }, 'not among the images'],
  ['a user that is none', { images: { a: cuda }, sshUser: 'root; id' }, 'the name of a user'],
  ['a setting that nobody knows', { images: { a: cuda }, imgaes: {} }, 'imgaes'],
])('settings with %s are refused with a reason', (_title, written, reason) => {
  expect(() => readIronicSettings(written)).toThrow(reason);
});
