/**
 * What counts as breaking, one line each. A request breaks when something a client already sends is refused
 * or means something else; an answer breaks when it holds, or lacks, what a client was not told to expect.
 * Everything that is not listed here may change within a major version.
 */
export const rules = {
  'operation-removed': 'A method and path that was answered no longer is.',
  'operation-id-changed': 'Generated clients name their methods by it.',
  'security-added': 'A call that needed no key now needs one.',
  'scope-changed': 'A key that sufficed no longer does.',
  'parameter-removed': 'What a client sends there is no longer heeded.',
  'parameter-required': 'Calls without it were good and are now refused.',
  'body-removed': 'What a client sends in the body is no longer heeded.',
  'body-required': 'Calls without a body were good and are now refused.',
  'media-type-removed': 'A form that was understood or answered no longer is.',
  'status-removed': 'A status clients were told of is no longer declared.',
  'success-status-added': 'Clients know which success to expect.',
  'header-removed': 'A header that was promised is no longer sent.',
  'request-narrowed': 'A value that was accepted is now refused.',
  'response-widened': 'A value may now be answered that clients were told not to expect.',
  'property-removed': 'A field is gone.',
  'default-changed': 'Leaving the field out now means something else.',
  'security-scheme-removed': 'Clients are configured by its name.',
} as const satisfies Record<string, string>;

export type Rule = keyof typeof rules;

/** Whose face of a schema is looked at: what clients send, or what they read. */
export type Direction = 'request' | 'response';

export interface BreakingChange {
  readonly rule: Rule;
  /** Where, as a person would point at it: `POST /v2/api-keys request body.limits.rpm`. */
  readonly at: string;
  /** What changed. */
  readonly what: string;
}
