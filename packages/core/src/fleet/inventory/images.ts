import { listCudaImages } from './cuda-images.ts';
import type { ClusterSettings } from './clusters.ts';

/** Used if the cluster's settings name no default image. */
export const FALLBACK_IMAGE = 'default';

export function defaultImageName({ defaultImage }: ClusterSettings): string {
  return typeof defaultImage === 'string' ? defaultImage : FALLBACK_IMAGE;
}

/** Lists only configured images: other aliases of the engine belong to the operator or another installation. */
export function tenantImages(settings: ClusterSettings): readonly string[] {
  const { images } = settings;
  const listed = Array.isArray(images)
    ? images.filter((image): image is string => typeof image === 'string')
    : Object.keys(typeof images === 'object' && images !== null ? images : {});
  const withCuda = listCudaImages(settings).map(({ image }) => image);
  return [...new Set([defaultImageName(settings), ...withCuda, ...listed])];
}
