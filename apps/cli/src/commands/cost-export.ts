import { defineCommand } from '../framework/command.ts';
import { writeFileOutput, fileFlag, readFullBody } from '../money/file-output.ts';
import { parseTimestamp } from '../text/timestamps.ts';

export const command = defineCommand({
  name: 'cost-export',
  summary: 'Export all costs as CSV, in the columns of FOCUS',
  description:
    'For tools that compare clouds. The sum equals the charges of the ledger less refunds, to the nano-USD. Default period: the month so far.',
  flags: {
    from: { type: 'text', value: 'TIME', describe: 'from this day or time' },
    until: { type: 'text', value: 'TIME', describe: 'before this day or time' },
    file: fileFlag,
  },
  examples: {
    'millrace cost-export > costs.csv': 'The month so far',
    'millrace cost-export --from 2026-07-01 --until 2026-08-01 --file july.csv': 'A past month',
  },
  operations: ['exportCosts'],
  json: { kind: 'none' },
  failure: 'Could not export the costs',
  run: async (context, { flags }) => {
    const { from, until, file } = flags;
    const response = await context
      .client()
      .usage.exportCosts({
        ...(from === undefined ? {} : { from: parseTimestamp('--from', from) }),
        ...(until === undefined ? {} : { until: parseTimestamp('--until', until) }),
      })
      .asResponse();
    const data = await readFullBody(response);
    const place = await writeFileOutput(context, data, { file, name: 'costs.csv', binary: false });
    if (place !== null) context.note(`Wrote ${place}.`);
  },
});
