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
    'The key is printed once, alone, on standard output; nothing can show it again. A key may do no more than you may yourself. See what that is with millrace whoami.',
  positionals: [{ name: 'name', describe: 'what the key is for' }],
  flags: {
    scope: {
      type: 'list',
      value: 'SCOPE',
      required: true,
      describe: 'what it may do, such as rentals:read; all means all that you may do',
    },
    mode: {
      type: 'text',
      value: 'MODE',
      choices: ['live', 'test'],
      describe: 'that of your own key unless told; test keys are free and see the mock region only',
    },
    expires: { type: 'text', value: 'DURATION', describe: 'when it stops working, such as 30d' },
    'allow-ip': { type: 'list', value: 'ADDRESS', describe: 'only from these addresses or networks' },
    ...keyLimitFlags,
  },
  examples: {
    'millrace key create ci --scope rentals:read,rentals:write --budget 50/day --expires 90d':
      'A key for a pipeline, with a limit on what it spends',
    'export MILLRACE_API_KEY=$(millrace key create laptop --scope all --mode test)':
      'Straight into the environment',
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
        // A test key makes test keys only.
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
    throw new UsageError(`--expires is ${JSON.stringify(typed)}, which is no duration like 30d or 12h.`);
  }
  return new Date(now.getTime() + seconds * 1000).toISOString();
}
