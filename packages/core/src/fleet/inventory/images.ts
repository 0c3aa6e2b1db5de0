import { listCudaImages } from './cuda-images.ts';
import type { ClusterSettings } from './clusters.ts';

/** The image of a cluster that names none. */
export const FALLBACK_IMAGE = 'default';

/** The image of a machine whose tenant names none. */
export function defaultImageName({ defaultImage }: ClusterSettings): string {
  return typeof defaultImage === 'string' ? defaultImage : FALLBACK_IMAGE;
}

/**
 * The images that tenants may name on a cluster. Engines have other aliases, which belong to the operator or to another installation:
 * only the default, those with a CUDA and those of the setting `images` are offered.
 */
export function tenantImages(settings: ClusterSettings): readonly string[] {
  const { images } = settings;
  const listed = Array.isArray(images)
    ? images.filter((image): image is string => typeof image === 'string')
    : Object.keys(typeof images === 'object' && images !== null ? images : {});
  const withCuda = listCudaImages(settings).map(({ image }) => image);
  return [...new Set([defaultImageName(settings), ...withCuda, ...listed])];
}
