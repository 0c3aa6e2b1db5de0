import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';
import { safeText } from '../../framework/text.ts';

export const command = defineCommand({
  name: 'reserve request',
  summary: 'Request more GPUs than are available',
  description: 'This orders nothing. The operator contacts you.',
  positionals: [{ name: 'gpus', describe: 'the number of GPUs' }],
  examples: {
    'millrace reserve request 256': 'A large cluster',
    'millrace reserve request 1024 --json': 'With the response as JSON',
  },
  operations: ['requestReservation'],
  json: 'record',
  failure: 'Could not send the request.',
  async run(context, { args }) {
    const response = await context
      .client()
      .rentals.requestReservation({ gpuCount: Number(args.gpus) }, { signal: context.signal });
    printResult(context, safeText(response.message), response);
  },
});
