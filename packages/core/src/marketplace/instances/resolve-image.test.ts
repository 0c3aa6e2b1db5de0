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

describe('resolveImage', () => {
  it.each([
    [{ name: 'ubuntu', tag: '24.04' }, 'ubuntu-24.04'],
    [{ name: 'ubuntu-24.04' }, 'ubuntu-24.04'],
    [{ name: 'debian', tag: '12' }, 'debian/12'],
    [{ name: 'pytorch', tag: '2.8' }, 'pytorch:2.8'],
    [{ name: 'pytorch:2.8' }, 'pytorch:2.8'],
    [{ name: 'millrace/vllm', tag: 'latest' }, 'millrace/vllm'],
  ])('resolves %o to %s', (request, image) => {
    expect(resolveImage(request, known)).toBe(image);
  });

  it.each([
    ['an image that the host does not have', { name: 'alpine', tag: '3' }],
    ['an image with another tag', { name: 'ubuntu', tag: '22.04' }],
    ['an image of a registry', { name: 'registry.internal:5000/team/app', tag: '1' }],
    ['an address', { name: 'http://169.254.169.254/latest' }],
    ['a path', { name: '../../etc/passwd' }],
    ['an option', { name: '--config', tag: 'x' }],
    ['a name with a space', { name: 'ubuntu 24' }],
    ['an empty name', { name: '' }],
    ['a name that is too long', { name: 'a'.repeat(300) }],
  ])('refuses %s', (_what, request) => {
    expect(reasonOf(() => resolveImage(request, known))).toBe('IMAGE_NOT_FOUND');
  });

  it('leaves the image to the engine if none are listed, but never accepts a path or an address', () => {
    expect(resolveImage({ name: 'ubuntu', tag: '24.04' }, null)).toBe('ubuntu:24.04');
    expect(reasonOf(() => resolveImage({ name: 'http://10.0.0.1/' }, null))).toBe('IMAGE_NOT_FOUND');
    expect(reasonOf(() => resolveImage({ name: '../x' }, null))).toBe('IMAGE_NOT_FOUND');
  });

  it('lists the available images in the refusal', () => {
    expect(() => resolveImage({ name: 'alpine' }, known)).toThrow(
      expect.objectContaining({ suggestion: expect.stringContaining('ubuntu-24.04') }),
    );
  });
});

describe('tenantImagesOf', () => {
  it.each([
    [{}, null],
    [{ images: 'ubuntu' }, null],
    [{ images: [] }, []],
    [{ images: ['a', 7, 'b'] }, ['a', 'b']],
    [{ images: ['a', 'b'], defaultImage: 'b' }, ['b', 'a']],
  ])('returns for the settings %o the images %o', (settings, images) => {
    expect(tenantImagesOf(settings)).toEqual(images);
  });
});
