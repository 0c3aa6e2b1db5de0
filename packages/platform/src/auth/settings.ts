/** How long a session lasts; use renews it daily. */
export const SESSION_SECONDS = 30 * 86_400;

/** An OpenID Connect provider that users may sign in with. */
export interface OidcProvider {
  readonly id: string;
  readonly name: string;
  readonly discoveryUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
}

export interface SignInSettings {
  /** The name of this installation in emails and pages. */
  readonly name: string;
  /** The origin of the console and the api, without a path. */
  readonly publicUrl: string;
  /** Signs cookies and encrypts second factors. */
  readonly secret: string;
  /** Further accepted secrets, during a rotation. Default: none. */
  readonly otherSecrets?: readonly string[];
  readonly signUp: 'open' | 'closed';
  readonly oidc: readonly OidcProvider[];
  /** Sign-in attempts and emails of one client address per 15 minutes. */
  readonly addressTries: number;
}

/** Maps the library's field names to our snake_case columns. */
export function columns<const Name extends string>(names: readonly Name[]): Record<Name, string> {
  const pairs = names.map((name) => [name, name.replaceAll(/[A-Z]/g, (char) => `_${char.toLowerCase()}`)]);
  return Object.fromEntries(pairs) as Record<Name, string>;
}
