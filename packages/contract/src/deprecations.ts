/**
 * What is on its way out. A path is first deprecated, which changes nothing but headers; after its sunset it
 * is retired and answers 410 with its successor, never 404. Entries are never removed from this table.
 */
export interface Deprecation {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** As in an operation: with parameters in braces. */
  readonly path: `/${string}`;
  /** RFC 3339, UTC. */
  readonly deprecatedAt: string;
  readonly sunsetAt: string;
  /** The path to use instead; its parameters must be among those of `path`. */
  readonly successor: `/${string}`;
  /** Where the change is explained. */
  readonly docUrl?: string;
}

/** Nothing is deprecated in this version. */
export const deprecations: readonly Deprecation[] = [];

/** Puts the parameters of a request into the successor's path, so that the link can be followed as it is. */
export function successorOf(deprecation: Deprecation, params: Readonly<Record<string, string>>): string {
  return deprecation.successor.replaceAll(/\{([^}]+)\}/g, (placeholder, name: string) => {
    const value = params[name];
    return value === undefined ? placeholder : encodeURIComponent(value);
  });
}

export function isRetired(deprecation: Deprecation, nowMs: number): boolean {
  return nowMs >= Date.parse(deprecation.sunsetAt);
}

/** The headers of RFC 9745 and RFC 8594 that a deprecated or retired path answers with. */
export function deprecationHeaders(
  deprecation: Deprecation,
  params: Readonly<Record<string, string>>,
): Readonly<Record<'Deprecation' | 'Sunset' | 'Link', string>> {
  const links = [`<${successorOf(deprecation, params)}>; rel="successor-version"`];
  if (deprecation.docUrl !== undefined) links.push(`<${deprecation.docUrl}>; rel="deprecation"`);
  return {
    // A structured-field date is whole seconds since 1970: the milliseconds without their last three digits.
    Deprecation: `@${String(Date.parse(deprecation.deprecatedAt)).slice(0, -3)}`,
    Sunset: new Date(deprecation.sunsetAt).toUTCString(),
    Link: links.join(', '),
  };
}
