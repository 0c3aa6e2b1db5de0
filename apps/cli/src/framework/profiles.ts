import { join } from 'node:path';
import type { Files } from './context.ts';
import { CliError, UsageError } from './errors.ts';

/** The address of `npm run dev`. Other installations are named with `millrace login --api-url`. */
export const DEFAULT_API_URL = 'http://127.0.0.1:8080';
export const DEFAULT_PROFILE = 'default';

/** One installation and one key, as stored. */
export interface StoredProfile {
  readonly apiUrl: string;
  /** The address of the inference gateway, if it differs. */
  readonly inferenceUrl?: string;
  readonly apiKey: string;
}

export interface ProfileStore {
  /** The default profile. */
  readonly current: string;
  readonly profiles: Readonly<Record<string, StoredProfile>>;
}

/** The profile of one run. */
export interface Profile {
  readonly name: string;
  readonly apiUrl: string;
  /** A flag, the environment or the profile names the address. */
  readonly isAddressNamed: boolean;
  readonly inferenceUrl: string;
  readonly apiKey: string | undefined;
  readonly keyFrom: 'environment' | 'profile' | 'nowhere';
  /** A stored profile has this name. */
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
      why: `The file ${path} has an unexpected format.`,
      fix: 'Delete the file and log in again: millrace login',
    });
  }
  return store;
}

export async function writeProfiles(files: Files, source: ProfileSource, store: ProfileStore): Promise<void> {
  // The file contains keys, so only the owner can read it.
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
 * Flags override the environment, which overrides the profile. A stored key is never sent to another
 * installation than its own, so another address omits it.
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

/** Test keys cost nothing and can use only mock machines. */
export function hasTestKey({ apiKey }: Pick<Profile, 'apiKey'>): boolean {
  return apiKey?.startsWith('mr_test_') === true;
}

export function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value.trim();
}

export function checkedUrl(value: string, from: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError(`${from} is ${JSON.stringify(value)}, which is not an http or https address.`, {
      fix: 'Use a full address, such as https://api.example.com',
    });
  }
  if (url.username !== '' || url.password !== '' || /[?#]/.test(value)) {
    throw new UsageError(`${from} must not contain a password, a query or a fragment.`);
  }
  return url.href.replace(/(?<!\/)\/+$/, '');
}

function sameOrigin(one: string, other: string): boolean {
  return URL.canParse(one) && new URL(one).origin === new URL(other).origin;
}
