import { join } from 'node:path';
import type { Files } from './context.ts';
import { CliError, UsageError } from './errors.ts';

/** Where `npm run dev` answers. An operator who hands out the command line names theirs at `millrace login --api-url`. */
export const DEFAULT_API_URL = 'http://127.0.0.1:8080';
export const DEFAULT_PROFILE = 'default';

/** One installation and one key, as they are kept. */
export interface StoredProfile {
  readonly apiUrl: string;
  /** Where inference is served, when that is elsewhere. */
  readonly inferenceUrl?: string;
  readonly apiKey: string;
}

export interface ProfileStore {
  /** The one that is used when nothing else is said. */
  readonly current: string;
  readonly profiles: Readonly<Record<string, StoredProfile>>;
}

/** What one run of the command line works with. */
export interface Profile {
  readonly name: string;
  readonly apiUrl: string;
  /** Somebody said where: a flag, the environment or the profile. */
  readonly isAddressNamed: boolean;
  readonly inferenceUrl: string;
  readonly apiKey: string | undefined;
  readonly keyFrom: 'environment' | 'profile' | 'nowhere';
  /** Somebody logged in with a profile of this name. */
  readonly isStored: boolean;
}

export interface ProfileSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly platform: string;
}

const emptyProfileStore: ProfileStore = { current: DEFAULT_PROFILE, profiles: {} };

export function profilesPath({ env, home, platform }: ProfileSource): string {
  const configured = platform === 'win32' ? env['APPDATA'] : env['XDG_CONFIG_HOME'];
  const base = configured === undefined || configured === '' ? join(home, '.config') : configured;
  return join(base, 'millrace', 'profiles.json');
}

export async function readProfiles(files: Files, source: ProfileSource): Promise<ProfileStore> {
  const path = profilesPath(source);
  if (!(await files.exists(path))) return emptyProfileStore;
  const store = parseProfileStore(await files.readText(path));
  if (store === null) {
    throw new CliError('Your profiles could not be read.', {
      why: `${path} is not what this program writes there.`,
      fix: 'Remove the file and log in again: millrace login',
    });
  }
  return store;
}

export async function writeProfiles(files: Files, source: ProfileSource, store: ProfileStore): Promise<void> {
  // Keys are inside: nobody else on the machine may read it.
  await files.write(profilesPath(source), `${JSON.stringify(store, null, 2)}\n`, { mode: 0o600 });
}

function parseProfileStore(text: string): ProfileStore | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value) || typeof value['current'] !== 'string' || !isRecord(value['profiles'])) return null;
  const profiles = Object.entries(value['profiles']);
  if (!profiles.every(([, profile]) => isStoredProfile(profile))) return null;
  return { current: value['current'], profiles: Object.fromEntries(profiles) as ProfileStore['profiles'] };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isStoredProfile(value: unknown): value is StoredProfile {
  if (!isRecord(value)) return false;
  const inferenceUrl = value['inferenceUrl'];
  return (
    typeof value['apiUrl'] === 'string' &&
    typeof value['apiKey'] === 'string' &&
    (inferenceUrl === undefined || typeof inferenceUrl === 'string')
  );
}

/**
 * What applies to this run: flags before the environment before the profile before the default. A key that a profile keeps
 * was given to one installation: it is never sent to another, so naming another address leaves it out.
 */
export function chooseProfile(
  store: ProfileStore,
  env: Readonly<Record<string, string | undefined>>,
  flags: { readonly profile?: string | undefined; readonly apiUrl?: string | undefined },
): Profile {
  const named = flags.profile ?? nonEmpty(env['MILLRACE_PROFILE']);
  const name = named ?? store.current;
  const stored = Object.hasOwn(store.profiles, name) ? store.profiles[name] : undefined;
  const address = flags.apiUrl ?? nonEmpty(env['MILLRACE_API_URL']) ?? stored?.apiUrl;
  const apiUrl = checkedUrl(
    address ?? DEFAULT_API_URL,
    flags.apiUrl === undefined ? 'MILLRACE_API_URL' : '--api-url',
  );
  const isHome = stored !== undefined && sameOrigin(stored.apiUrl, apiUrl);
  const inferenceUrl = checkedUrl(
    nonEmpty(env['MILLRACE_INFERENCE_URL']) ?? (isHome ? stored.inferenceUrl : undefined) ?? apiUrl,
    'MILLRACE_INFERENCE_URL',
  );
  const areModelsHome =
    stored !== undefined &&
    [stored.apiUrl, stored.inferenceUrl ?? stored.apiUrl].some((own) => sameOrigin(own, inferenceUrl));
  const environmentKey = nonEmpty(env['MILLRACE_API_KEY']);
  const apiKey = environmentKey ?? (isHome && areModelsHome ? stored.apiKey : undefined);
  return {
    name,
    apiUrl,
    isAddressNamed: address !== undefined,
    inferenceUrl,
    apiKey,
    keyFrom: environmentKey !== undefined ? 'environment' : apiKey === undefined ? 'nowhere' : 'profile',
    isStored: stored !== undefined,
  };
}

/** Test keys pay nothing, and see what is mock alone. */
export function hasTestKey({ apiKey }: Pick<Profile, 'apiKey'>): boolean {
  return apiKey?.startsWith('mr_test_') === true;
}

export function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value.trim();
}

export function checkedUrl(value: string, from: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError(`${from} is ${JSON.stringify(value)}, which is no http or https address.`, {
      fix: 'Write it whole, such as https://api.example.com',
    });
  }
  if (url.username !== '' || url.password !== '' || /[?#]/.test(value)) {
    throw new UsageError(`${from} is an address with a password, a query or a fragment; leave that off.`);
  }
  return url.href.replace(/(?<!\/)\/+$/, '');
}

function sameOrigin(one: string, other: string): boolean {
  return URL.canParse(one) && new URL(one).origin === new URL(other).origin;
}
