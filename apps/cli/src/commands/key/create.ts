import { keyLimitFlags, parseKeyLimits } from '../../account/key-limits.ts';
import { showNewKey } from '../../account/new-key.ts';
import { defineCommand } from '../../framework/command.ts';
import { UsageError } from '../../framework/errors.ts';
import { hasTestKey } from '../../framework/profiles.ts';
import type { Input } from '../../sdk.ts';
import { parseDuration } from '@millrace/sdk/text';

export const command = defineCommand({
  name: 'key create',
  summary: 'Create an API key',
  description:
    'The key is printed only once, to standard output. A key cannot have more rights than you; millrace whoami shows your rights.',
  positionals: [{ name: 'name', describe: 'the purpose of the key' }],
  flags: {
    scope: {
      type: 'list',
      value: 'SCOPE',
      required: true,
      describe: 'its rights, such as rentals:read; all means all of your rights',
    },
    mode: {
      type: 'text',
      value: 'MODE',
      choices: ['live', 'test'],
      describe: 'default: the mode of your key; test keys are free and can use only mock machines',
    },
    expires: { type: 'text', value: 'DURATION', describe: 'when it expires, such as 30d' },
    'allow-ip': { type: 'list', value: 'ADDRESS', describe: 'only from these addresses or networks' },
    ...keyLimitFlags,
  },
  examples: {
    'millrace key create ci --scope rentals:read,rentals:write --budget 50/day --expires 90d':
      'A key for a pipeline, with a spending limit',
    'export MILLRACE_API_KEY=$(millrace key create laptop --scope all --mode test)':
      'Directly into the environment',
  },
  operations: ['createApiKey'],
  json: 'record',
  failure: 'Could not create the key',
  async run(context, { args, flags }) {
    const client = context.client();
    const { signal } = context;
    const scopes = flags.scope.includes('all') ? (await client.me.get({}, { signal })).scopes : flags.scope;
    const created = await client.keys.create(
      {
        name: args.name,
        scopes: [...scopes] as Input<'createApiKey'>['scopes'],
        // A test key can create only test keys.
        mode: flags.mode ?? (hasTestKey(context.profile) ? 'test' : 'live'),
        limits: parseKeyLimits(flags),
        allowedIps: [...flags['allow-ip']],
        ...(flags.expires === undefined ? {} : { expiresAt: expiry(flags.expires, context.clock.now()) }),
      },
      { signal },
    );
    showNewKey(context, created);
  },
});

function expiry(typed: string, now: Date): string {
  const seconds = parseDuration(typed);
  if (seconds === null || seconds === 0) {
    throw new UsageError(`--expires is ${JSON.stringify(typed)}; use a duration such as 30d or 12h.`);
  }
  return new Date(now.getTime() + seconds * 1000).toISOString();
}
