import { expect, it } from 'vitest';
import { tenantImages } from './images.ts';

it.each([
  ['nothing is set', {}, ['default']],
  ['a default is set', { defaultImage: 'ubuntu' }, ['ubuntu']],
  ['a list is set', { defaultImage: 'ubuntu', images: ['debian', 7, 'ubuntu'] }, ['ubuntu', 'debian']],
  ['images are set by name, as for Ironic', { images: { a: {}, b: {} } }, ['default', 'a', 'b']],
  ['images with a CUDA are set', { cudaImages: { '12.9': 'cuda' } }, ['default', 'cuda']],
])('tenantImages returns the images of the settings when %s', (_what, settings, images) => {
  expect(tenantImages(settings)).toEqual(images);
});
