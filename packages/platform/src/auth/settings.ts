/** How long a person stays signed in; renewed daily while used. */
export const SESSION_SECONDS = 30 * 86_400;

/** An outside provider that people may sign in with, by OpenID Connect. */
export interface OidcProvider {
  readonly id: string;
  readonly name: string;
  readonly discoveryUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
}

export interface SignInSettings {
  /** What people call this installation. */
  readonly name: string;
  /** Where the console and the api are, without a path. */
  readonly publicUrl: string;
  readonly secret: string;
  readonly signUp: 'open' | 'closed';
  readonly oidc: readonly OidcProvider[];
  /** Tries to sign in, and letters, of one address in a quarter of an hour. */
  readonly addressTries: number;
}

/** Fields whose columns are named as all our columns are. */
export function columns<const Name extends string>(names: readonly Name[]): Record<Name, string> {
  const pairs = names.map((name) => [name, name.replaceAll(/[A-Z]/g, (char) => `_${char.toLowerCase()}`)]);
  return Object.fromEntries(pairs) as Record<Name, string>;
}
