import { defineCommand } from '../../framework/command.ts';
import { UsageError } from '../../framework/errors.ts';
import { printResult } from '../../framework/output.ts';
import { countText } from '../../framework/text.ts';

export const command = defineCommand({
  name: 'webhook replay',
  summary: 'Send one delivery, or all events of a range, again',
  positionals: [{ name: 'webhookId', describe: 'the id of the webhook, whk_…' }],
  flags: {
    delivery: { type: 'text', value: 'DELIVERY_ID', describe: 'this delivery, dlv_…' },
    after: {
      type: 'number',
      integer: true,
      min: 0,
      value: 'SEQ',
      describe: 'all events with a greater number',
    },
    until: {
      type: 'number',
      integer: true,
      min: 1,
      value: 'SEQ',
      describe: 'up to this event; default: the newest',
    },
  },
  examples: {
    'millrace webhook replay whk_01JD8Q7XK4T2M9V6B3N5C1F0GH --delivery dlv_01JD8Q7XK4T2M9V6B3N5C1F0GH':
      'A failed delivery',
    'millrace webhook replay whk_01JD8Q7XK4T2M9V6B3N5C1F0GH --after 1200 --until 1300':
      'A hundred events that the receiver lost',
  },
  operations: ['replayWebhookDelivery', 'replayWebhook'],
  json: { kind: 'record', fields: ['webhookId', 'eventCount'] },
  failure: 'Could not send the events again',
  run: async (context, { args: { webhookId }, flags }) => {
    const { delivery: deliveryId, after, until } = flags;
    const webhooks = context.client().webhooks;
    if (deliveryId !== undefined) {
      if (after !== undefined || until !== undefined) {
        throw new UsageError('Use either --delivery, for one delivery, or --after and --until, for a range.');
      }
      const { eventId } = await webhooks.replayDelivery({ webhookId, deliveryId });
      printResult(context, `Sending ${eventId} again.`, { webhookId, eventCount: 1 });
      return;
    }
    if (after === undefined) throw new UsageError('Nothing to send. Use --delivery or --after.');
    // Long ranges are sent in parts; the response names the start of the next part.
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
