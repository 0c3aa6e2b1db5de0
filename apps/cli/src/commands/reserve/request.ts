import { defineCommand } from '../../framework/command.ts';
import { printResult } from '../../framework/output.ts';
import { safeText } from '../../framework/text.ts';

export const command = defineCommand({
  name: 'reserve request',
  summary: 'Ask the operator for more GPUs than are on offer',
  description: 'Nothing is ordered by it: somebody gets in touch with you.',
  positionals: [{ name: 'gpus', describe: 'how many' }],
  examples: {
    'millrace reserve request 256': 'A large cluster',
    'millrace reserve request 1024 --json': 'With the answer as JSON',
  },
  operations: ['requestReservation'],
  json: 'record',
  failure: 'Could not ask for it.',
  async run(context, { args }) {
    const response = await context
      .client()
      .rentals.requestReservation({ gpuCount: Number(args.gpus) }, { signal: context.signal });
    printResult(context, safeText(response.message), response);
  },
});
