import type { Input } from '../../sdk.ts';
import { defineCommand } from '../../framework/command.ts';
import { UsageError } from '../../framework/errors.ts';
import { printRecord } from '../../framework/output.ts';
import { typesFlag, webhookColumns } from '../../webhooks/webhook.ts';

export const command = defineCommand({
  name: 'webhook update',
  summary: 'Change, disable or enable a webhook',
  positionals: [{ name: 'webhookId', describe: 'the id of the webhook, whk_…' }],
  flags: {
    url: { type: 'text', value: 'URL', describe: 'the new address' },
    type: typesFlag,
    description: { type: 'text', value: 'TEXT', describe: 'the new description' },
    enable: { type: 'boolean', describe: 'send events again' },
    disable: { type: 'boolean', describe: 'send no events until it is enabled' },
  },
  examples: {
    'millrace webhook update whk_01JD8Q7XK4T2M9V6B3N5C1F0GH --disable': 'Disable it',
    'millrace webhook update whk_01JD8Q7XK4T2M9V6B3N5C1F0GH --type "*"': 'All types, including future ones',
  },
  operations: ['updateWebhook'],
  json: 'record',
  failure: 'Could not change the webhook',
  run: async (context, { args: { webhookId }, flags }) => {
    if (flags.enable === true && flags.disable === true) {
      throw new UsageError('--enable and --disable contradict each other. Use one of them.');
    }
    const eventTypes = flags.type as NonNullable<Input<'updateWebhook'>['eventTypes']>;
    const change = {
      ...(flags.url === undefined ? {} : { url: flags.url }),
      ...(eventTypes.length === 0 ? {} : { eventTypes }),
      ...(flags.description === undefined ? {} : { description: flags.description }),
      ...(flags.enable === true ? { status: 'enabled' as const } : {}),
      ...(flags.disable === true ? { status: 'disabled' as const } : {}),
    };
    if (Object.keys(change).length === 0) {
      throw new UsageError('Nothing to change. Use --url, --type, --description, --enable or --disable.');
    }
    printRecord(context, await context.client().webhooks.update({ webhookId, ...change }), webhookColumns);
  },
});
