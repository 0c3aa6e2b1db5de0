import { isFault } from '@millrace/platform/fault';
import { describe, expect, it } from 'vitest';
import { resolveImage, tenantImagesOf } from './resolve-image.ts';

const known = ['ubuntu-24.04', 'debian/12', 'pytorch:2.8', 'millrace/vllm'];

const reasonOf = (work: () => unknown): string => {
  try {
    work();
    return 'accepted';
  } catch (error) {
    return isFault(error) ? error.reason : String(error);
  }
};

describe('an image that a tenant names', () => {
  it.each([
    [{ name: 'ubuntu', tag: '24.04' }, 'ubuntu-24.04'],
    [{ name: 'ubuntu-24.04' }, 'ubuntu-24.04'],
    [{ name: 'debian', tag: '12' }, 'debian/12'],
    [{ name: 'pytorch', tag: '2.8' }, 'pytorch:2.8'],
    [{ name: 'pytorch:2.8' }, 'pytorch:2.8'],
    [{ name: 'millrace/vllm', tag: 'latest' }, 'millrace/vllm'],
  ])('%o is what its host calls %s', (request, image) => {
    expect(resolveImage(request, known)).toBe(image);
  });

  it.each([
    ['that the host does not have', { name: 'alpine', tag: '3' }],
    ['of another tag', { name: 'ubuntu', tag: '22.04' }],
    ['of a registry', { name: 'registry.internal:5000/team/app', tag: '1' }],
    ['at an address', { name: 'http://169.254.169.254/latest' }],
    ['that is a path', { name: '../../etc/passwd' }],
    ['that is an option', { name: '--config', tag: 'x' }],
    ['with a space', { name: 'ubuntu 24' }],
    ['without a name', { name: '' }],
    ['of more letters than any has', { name: 'a'.repeat(300) }],
  ])('%s is refused', (_what, request) => {
    expect(reasonOf(() => resolveImage(request, known))).toBe('IMAGE_NOT_FOUND');
  });

  it('is left to the engine where nobody wrote down what the host has, and is never a path or an address', () => {
    expect(resolveImage({ name: 'ubuntu', tag: '24.04' }, null)).toBe('ubuntu:24.04');
    expect(reasonOf(() => resolveImage({ name: 'http://10.0.0.1/' }, null))).toBe('IMAGE_NOT_FOUND');
    expect(reasonOf(() => resolveImage({ name: '../x' }, null))).toBe('IMAGE_NOT_FOUND');
  });

  it('is refused with the names of those that would do', () => {
    expect(() => resolveImage({ name: 'alpine' }, known)).toThrow(
      expect.objectContaining({ suggestion: expect.stringContaining('ubuntu-24.04') }),
    );
  });
});

describe('the images of a cluster', () => {
  it.each([
    [{}, null],
    [{ images: 'ubuntu' }, null],
    [{ images: [] }, []],
    [{ images: ['a', 7, 'b'] }, ['a', 'b']],
    [{ images: ['a', 'b'], defaultImage: 'b' }, ['b', 'a']],
  ])('by the settings %o are %o', (settings, images) => {
    expect(tenantImagesOf(settings)).toEqual(images);
  });
});
