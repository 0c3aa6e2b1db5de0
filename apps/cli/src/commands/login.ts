import { promptForKey, isUnencryptedRemoteUrl } from '../account/key-input.ts';
import { keyMode } from '../framework/key-mode.ts';
import { revokeReplacedKey, signInAndCreateKey } from '../account/sign-in.ts';
import { defineCommand } from '../framework/command.ts';
import type { Context } from '../framework/context.ts';
import { UsageError } from '../framework/errors.ts';
import { printResult } from '../framework/output.ts';
import { checkedUrl, profilesPath, readProfiles, writeProfiles } from '../framework/profiles.ts';

export const command = defineCommand({
  name: 'login',
  summary: 'Sign in and save an API key',
  description:
    'Shows an address and a code, waits until you confirm in a browser, creates an API key with all your rights, valid for 90 days, and saves it in a file that only you can read. With --with-key or --key-stdin it saves an existing key. Use --profile to save several keys.',
  flags: {
    organisation: {
      type: 'text',
      value: 'ORGANISATION',
      describe: 'id or slug of the organisation, if you belong to several',
    },
    mode: {
      type: 'text',
      value: 'MODE',
      choices: ['live', 'test'],
      describe: 'the mode of the key: live (default) or test',
    },
    'with-key': { type: 'boolean', describe: 'ask for an existing key instead of signing in' },
    'key-stdin': { type: 'boolean', describe: 'read the key from standard input' },
    'inference-url': {
      type: 'text',
      value: 'URL',
      describe: 'the address of the inference gateway, if it differs',
    },
  },
  examples: {
    'millrace login --api-url https://api.example.com': 'In the browser',
    'millrace login --organisation acme --mode test --profile try':
      'A test key of one organisation, in its own profile',
    'millrace login --profile ci --key-stdin < key.txt': 'Without questions, into its own profile',
  },
  operations: ['listMyOrganisations', 'listMySessions', 'endMySession'],
  json: { kind: 'record', fields: ['profile', 'apiUrl', 'inferenceUrl', 'email', 'organisation', 'mode'] },
  failure: 'Could not log in',
  async run(context, { flags }) {
    const takesKey = flags['with-key'] === true || flags['key-stdin'] === true;
    if (takesKey && (flags.organisation !== undefined || flags.mode !== undefined)) {
      throw new UsageError(
        'An existing key already has an organisation and a mode. Remove --organisation and --mode.',
      );
    }
    const apiUrl = await resolveApiUrl(context);
    const named = flags['inference-url'] ?? context.env['MILLRACE_INFERENCE_URL'];
    const inferenceUrl =
      named === undefined || named === ''
        ? undefined
        : checkedUrl(named, 'The address of the inference gateway');
    for (const address of [apiUrl, inferenceUrl ?? apiUrl].filter(isUnencryptedRemoteUrl)) {
      await context.confirm(`${address} is not encrypted, so others could read the key. Continue?`);
    }
    const keep = (apiKey: string) => verifyAndStoreKey(context, { apiUrl, inferenceUrl, apiKey });
    if (takesKey) {
      await keep(await promptForKey(context, flags['key-stdin'] === true));
      return;
    }
    const { organisation, mode } = flags;
    await signInAndCreateKey(context, { apiUrl, organisation, mode: mode ?? 'live' }, keep);
  },
});

/** Verifies a key by using it before storing it. */
async function verifyAndStoreKey(
  context: Context,
  { apiUrl, inferenceUrl, apiKey }: { apiUrl: string; inferenceUrl: string | undefined; apiKey: string },
): Promise<void> {
  const client = context.clientFor({ apiUrl, inferenceUrl: inferenceUrl ?? apiUrl, apiKey });
  const me = await client.me.get({}, { signal: context.signal });
  const { name } = context.profile;
  const store = await readProfiles(context.files, context);
  const replaced = Object.hasOwn(store.profiles, name) ? store.profiles[name] : undefined;
  const profile = { apiUrl, apiKey, ...(inferenceUrl === undefined ? {} : { inferenceUrl }) };
  await writeProfiles(context.files, context, {
    current: name,
    profiles: { ...store.profiles, [name]: profile },
  });
  printResult(
    context,
    `Logged in as ${me.user.email} of ${me.organisation.name}, with a ${keyMode(apiKey)} key.`,
    {
      profile: name,
      apiUrl,
      inferenceUrl: inferenceUrl ?? apiUrl,
      email: me.user.email,
      organisation: me.organisation.id,
      mode: me.mode,
    },
  );
  if (replaced !== undefined && replaced.apiKey !== apiKey) await revokeReplacedKey(context, replaced);
  if (store.current !== name && store.profiles[store.current] !== undefined)
    context.note(
      `The previous profile was "${store.current}". To switch back: millrace profile use ${store.current}`,
    );
  context.note(`Using profile "${name}", stored in ${profilesPath(context)}.`);
  if (context.profile.keyFrom === 'environment') {
    context.note('MILLRACE_API_KEY is set and overrides the profile. Unset it to use the profile.');
  }
}

/** The address from flag, environment or profile; otherwise asks the user. */
async function resolveApiUrl(context: Context): Promise<string> {
  const { apiUrl, isAddressNamed } = context.profile;
  if (isAddressNamed || !context.io.inIsTty) return apiUrl;
  const typed = (await context.prompt.line(`Address of the API [${apiUrl}]: `))?.trim() ?? '';
  return typed === '' ? apiUrl : checkedUrl(typed, 'The address');
}
