import { defineCommand } from '../../framework/command.ts';
import { UsageError } from '../../framework/errors.ts';
import { printResult } from '../../framework/output.ts';
import { countText } from '../../framework/text.ts';

export const command = defineCommand({
  name: 'webhook replay',
  summary: 'Send a delivery again, or every event of a range in order',
  positionals: [{ name: 'webhookId', describe: 'the id of the webhook, whk_…' }],
  flags: {
    delivery: { type: 'text', value: 'DELIVERY_ID', describe: 'this delivery, dlv_…' },
    after: {
      type: 'number',
      integer: true,
      min: 0,
      value: 'SEQ',
      describe: 'every event with a greater number',
    },
    until: {
      type: 'number',
      integer: true,
      min: 1,
      value: 'SEQ',
      describe: 'up to this one; up to now unless told',
    },
  },
  examples: {
    'millrace webhook replay whk_01JD8Q7XK4T2M9V6B3N5C1F0GH --delivery dlv_01JD8Q7XK4T2M9V6B3N5C1F0GH':
      'one that failed',
    'millrace webhook replay whk_01JD8Q7XK4T2M9V6B3N5C1F0GH --after 1200 --until 1300':
      'a hundred, after the receiver lost them',
  },
  operations: ['replayWebhookDelivery', 'replayWebhook'],
  json: { kind: 'record', fields: ['webhookId', 'eventCount'] },
  failure: 'Could not send it again',
  run: async (context, { args: { webhookId }, flags }) => {
    const { delivery: deliveryId, after, until } = flags;
    const webhooks = context.client().webhooks;
    if (deliveryId !== undefined) {
      if (after !== undefined || until !== undefined) {
        throw new UsageError(
          '--delivery names one; --after and --until name a range. Give one or the other.',
        );
      }
      const { eventId } = await webhooks.replayDelivery({ webhookId, deliveryId });
      printResult(context, `Sending ${eventId} again.`, { webhookId, eventCount: 1 });
      return;
    }
    if (after === undefined) throw new UsageError('What is to be sent again? Give --delivery, or --after.');
    // Long ranges are taken in parts; the answer says where the next one begins.
    let eventCount = 0;
    for (let from: number | null = after; from !== null;) {
      const part = await webhooks.replay({
        webhookId,
        after: from,
        until,
      });
      eventCount += part.eventCount;
      from = part.nextAfter;
    }
    printResult(context, `Sending ${countText(eventCount, 'event')} again.`, { webhookId, eventCount });
  },
});
