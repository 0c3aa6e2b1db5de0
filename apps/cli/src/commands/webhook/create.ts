import type { Input } from '../../sdk.ts';
import { defineCommand } from '../../framework/command.ts';
import { lostSecretError } from '../../framework/errors.ts';
import { printJson, printRecord } from '../../framework/output.ts';
import { typesFlag, webhookColumns } from '../../webhooks/webhook.ts';

export const command = defineCommand({
  name: 'webhook create',
  summary: 'Send events to your server',
  description:
    'Deliveries follow Standard Webhooks and are signed with the secret, which is shown only once. The address must be https and publicly reachable; for your own machine use millrace webhook listen.',
  positionals: [{ name: 'url', describe: 'the address of your server, https://…' }],
  flags: {
    type: typesFlag,
    description: { type: 'text', value: 'TEXT', describe: 'a description' },
  },
  examples: {
    'millrace webhook create https://example.com/hooks/millrace': 'All events',
    'millrace webhook create https://example.com/hooks --type rental.running,rental.terminated':
      'Only two types',
  },
  operations: ['createWebhook'],
  json: 'record',
  failure: 'Could not create the webhook',
  run: async (context, { args: { url }, flags }) => {
    // The server validates the types, because it may know more of them than this CLI.
    const eventTypes = flags.type as NonNullable<Input<'createWebhook'>['eventTypes']>;
    const webhook = await context.client().webhooks.create({
      url,
      ...(eventTypes.length === 0 ? {} : { eventTypes }),
      description: flags.description,
    });
    const isJson = context.output.format === 'json';
    if (isJson) printJson(context, webhook);
    else
      printRecord(context, webhook, [
        ...webhookColumns,
        { name: 'secret', value: ({ secret }: typeof webhook) => secret },
      ]);
    if (webhook.secret === null) {
      const fix = `Rotate its secret: millrace webhook rotate-secret ${webhook.id} --overlap 0`;
      throw lostSecretError('The webhook was created', fix);
    }
    if (isJson) return;
    context.note('Save the secret now: it is not shown again.');
  },
});
