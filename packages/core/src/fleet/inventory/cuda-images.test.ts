import { expect, it } from 'vitest';
import { imageForCuda, newestCudaVersion } from './cuda-images.ts';

const settings = {
  cudaImages: { '12.9': 'noble-cuda-12.9', '12.8': 'noble-cuda-12.8', '9.2': 'old', '13': 'no minor' },
};

it('imageForCuda returns the image with the oldest sufficient CUDA', () => {
  expect(imageForCuda(settings, 1_208)).toBe('noble-cuda-12.8');
  expect(imageForCuda(settings, 1_209)).toBe('noble-cuda-12.9');
  expect(imageForCuda(settings, 902)).toBe('old');
  expect(imageForCuda(settings, 1_300)).toBeNull();
});

it('newestCudaVersion returns the newest valid version, and null for invalid settings', () => {
  expect(newestCudaVersion(settings)).toBe('12.9');
  for (const odd of [{}, { cudaImages: null }, { cudaImages: 'all' }, { cudaImages: { '12.8': 7 } }]) {
    expect(newestCudaVersion(odd)).toBeNull();
    expect(imageForCuda(odd, 0)).toBeNull();
  }
});
