/**
 * The breaking changes, each with its harm. A request breaks if a value that clients send is refused or changes its meaning; a
 * response breaks if it contains or omits something that clients do not expect. All other changes are allowed within a major
 * version.
 */
export const rules = {
  'operation-removed': 'Calls of this method and path now fail.',
  'operation-id-changed': 'Generated clients name their methods after it.',
  'security-added': 'A call that needed no key now needs one.',
  'scope-changed': 'A key with the earlier scope is now refused.',
  'parameter-removed': 'The value that clients send is now ignored.',
  'parameter-required': 'Calls without it are now refused.',
  'body-removed': 'The body that clients send is now ignored.',
  'body-required': 'Calls without a body are now refused.',
  'media-type-removed': 'Clients that send or expect this media type fail.',
  'status-removed': 'Clients handle a status that is no longer declared.',
  'success-status-added': 'Clients do not expect this success status.',
  'header-removed': 'Clients read a header that is no longer sent.',
  'request-narrowed': 'A value that was accepted is now refused.',
  'response-widened': 'A response may contain a value that clients do not expect.',
  'property-removed': 'A field was removed.',
  'default-changed': 'Requests without the field change their meaning.',
  'security-scheme-removed': 'Clients are configured with its name.',
} as const satisfies Record<string, string>;

export type Rule = keyof typeof rules;

/** Whether clients send or read the schema. */
export type Direction = 'request' | 'response';

export interface BreakingChange {
  readonly rule: Rule;
  /** Location, for example `POST /v2/api-keys request body.limits.rpm`. */
  readonly at: string;
  readonly what: string;
}
