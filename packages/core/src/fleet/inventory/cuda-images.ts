import type { ClusterSettings } from './clusters.ts';
import { parseCudaVersion } from './gpu-models.ts';

/**
 * On bare metal CUDA comes with the image, and an idle node has none. So a cluster's `cudaImages` say which image has which CUDA,
 * as in `{"12.8": "ubuntu-24.04-cuda-12.8"}`, and its nodes have what the newest of them brings. Pure.
 */

interface CudaImage {
  readonly cuda: number;
  readonly version: string;
  readonly image: string;
}

/** Oldest first. */
export function listCudaImages({ cudaImages }: ClusterSettings): readonly CudaImage[] {
  if (typeof cudaImages !== 'object' || cudaImages === null) return [];
  return Object.entries(cudaImages)
    .flatMap(([version, image]) => {
      const cuda = parseCudaVersion(version);
      return typeof image === 'string' && cuda !== null ? [{ cuda, version, image }] : [];
    })
    .toSorted((one, other) => one.cuda - other.cuda);
}

/** Null where the settings name none. */
export function newestCudaVersion(settings: ClusterSettings): string | null {
  return listCudaImages(settings).at(-1)?.version ?? null;
}

/** The image with the oldest CUDA that will do; null where there is none. */
export function imageForCuda(settings: ClusterSettings, wanted: number): string | null {
  return listCudaImages(settings).find(({ cuda }) => cuda >= wanted)?.image ?? null;
}
