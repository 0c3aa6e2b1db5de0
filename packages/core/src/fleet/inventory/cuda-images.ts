import type { ClusterSettings } from './clusters.ts';
import { parseCudaVersion } from './gpu-models.ts';

/** Reads `cudaImages` (`{"12.8": "image"}`). On bare metal the image brings CUDA, and an idle node reports none. */

interface CudaImage {
  readonly cuda: number;
  readonly version: string;
  readonly image: string;
}

/** Sorted from oldest to newest CUDA. */
export function listCudaImages({ cudaImages }: ClusterSettings): readonly CudaImage[] {
  if (typeof cudaImages !== 'object' || cudaImages === null) return [];
  return Object.entries(cudaImages)
    .flatMap(([version, image]) => {
      const cuda = parseCudaVersion(version);
      return typeof image === 'string' && cuda !== null ? [{ cuda, version, image }] : [];
    })
    .toSorted((one, other) => one.cuda - other.cuda);
}

export function newestCudaVersion(settings: ClusterSettings): string | null {
  return listCudaImages(settings).at(-1)?.version ?? null;
}

/** The image with the oldest CUDA that is at least `wanted`; null if none is. */
export function imageForCuda(settings: ClusterSettings, wanted: number): string | null {
  return listCudaImages(settings).find(({ cuda }) => cuda >= wanted)?.image ?? null;
}
