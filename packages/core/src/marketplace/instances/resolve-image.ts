import { Fault } from '@millrace/platform/fault';
import { requireImage } from '../../rentals/index.ts';

/** Resolves the image that a tenant requests for an instance. Pure. */

export interface ImageRequest {
  readonly name: string;
  readonly tag?: string | undefined;
}

/** Images that a refusal lists. */
const LISTED_IMAGES_MAX = 20;

/**
 * Maps a name and tag to the host's name of an image. Only existing images are accepted, so that no name leads to a
 * registry, address or file. `known` is null if the settings list no images: the engine decides then.
 */
export function resolveImage(request: ImageRequest, known: readonly string[] | null): string {
  const [name, tag] = request.tag === undefined ? splitName(request.name) : [request.name, request.tag];
  const whole = requireImage(tag === null ? name : `${name}:${tag}`);
  if (whole === null || known === null) return whole ?? name;
  const found = candidateImageNames(name, tag).find((candidate) => known.includes(candidate));
  if (found !== undefined) return found;
  throw new Fault('IMAGE_NOT_FOUND', {
    message: `The machine has no image ${whole}.`,
    suggestion:
      known.length === 0
        ? 'Leave the image out.'
        : `Leave the image out, or choose one of: ${known.slice(0, LISTED_IMAGES_MAX).join(', ')}.`,
  });
}

/** Possible names at the host, the likeliest first. */
function candidateImageNames(name: string, tag: string | null): readonly string[] {
  if (tag === null) return [name, `${name}:latest`];
  const tagged = [`${name}:${tag}`, `${name}-${tag}`, `${name}/${tag}`];
  return tag === 'latest' ? [...tagged, name] : tagged;
}

/** The name may contain a tag; a colon before a slash is part of a registry address. */
function splitName(text: string): readonly [name: string, tag: string | null] {
  const cut = text.lastIndexOf(':');
  return cut <= text.lastIndexOf('/') ? [text, null] : [text.slice(0, cut), text.slice(cut + 1)];
}

/** Returns null if the settings list no images. */
export function tenantImagesOf(settings: Readonly<Record<string, unknown>>): readonly string[] | null {
  const { images, defaultImage } = settings;
  if (!Array.isArray(images)) return null;
  const named = images.filter((image): image is string => typeof image === 'string');
  return typeof defaultImage === 'string' ? [...new Set([defaultImage, ...named])] : named;
}
