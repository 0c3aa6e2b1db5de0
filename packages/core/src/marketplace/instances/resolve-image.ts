import { Fault } from '@millrace/platform/fault';
import { requireImage } from '../../rentals/index.ts';

/** What an instance is made from. Pure. */

export interface ImageRequest {
  readonly name: string;
  readonly tag?: string | undefined;
}

/** So many of a machine's images are named to somebody who asked for another. */
const LISTED_IMAGES_MAX = 20;

/**
 * The image of a machine that a tenant means. Tenants write a name and a tag, as people do who are used to registries;
 * hosts have names of their own for what they keep. Only those will do: nothing is fetched from anywhere because a tenant
 * named it, so no name leads to a registry, an address or a file that is not the tenant's to see.
 *
 * `known` is null where nobody has written down what the machine has: its engine says so then.
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

/** What a host may call it, the likeliest first. */
function candidateImageNames(name: string, tag: string | null): readonly string[] {
  if (tag === null) return [name, `${name}:latest`];
  const tagged = [`${name}:${tag}`, `${name}-${tag}`, `${name}/${tag}`];
  return tag === 'latest' ? [...tagged, name] : tagged;
}

/** A tag may stand in the name itself; what is before a slash is none. */
function splitName(text: string): readonly [name: string, tag: string | null] {
  const cut = text.lastIndexOf(':');
  return cut <= text.lastIndexOf('/') ? [text, null] : [text.slice(0, cut), text.slice(cut + 1)];
}

/** The images that tenants may name on a cluster, by its settings; null where they do not say. */
export function tenantImagesOf(settings: Readonly<Record<string, unknown>>): readonly string[] | null {
  const { images, defaultImage } = settings;
  if (!Array.isArray(images)) return null;
  const named = images.filter((image): image is string => typeof image === 'string');
  return typeof defaultImage === 'string' ? [...new Set([defaultImage, ...named])] : named;
}
