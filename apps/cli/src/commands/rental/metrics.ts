import { defineCommand } from '../../framework/command.ts';
import { printJson, printList } from '../../framework/output.ts';
import { findRentalId } from '../../rentals/find.ts';
import { parseDurationFlag } from '../../rentals/flags.ts';
import { stepSecondsOf } from '@millrace/sdk/text';
import { summariseSeries } from '../../rentals/metrics.ts';

const pointsShown = 30;

export const command = defineCommand({
  name: 'rental metrics',
  summary: 'Show the utilisation of GPUs, memory and network',
  description:
    'Measured every 30 seconds while monitoring is on (millrace rental create --monitoring) and kept for seven days. A gap means that nothing was measured.',
  positionals: [{ name: 'rental', describe: 'name or id of the rental' }],
  flags: {
    for: { type: 'text', value: 'TIME', default: '1h', describe: 'the period: 30m, 6h, 7d' },
    step: {
      type: 'text',
      value: 'TIME',
      describe: 'the distance between points; by default one that fills a line',
    },
  },
  examples: {
    'millrace rental metrics train': 'The last hour',
    'millrace rental metrics 1042 --for 24h --step 60s --json': 'All points, for a script',
  },
  operations: ['getRentalMetrics', 'listVirtualMachineRentals', 'listBareMetalRentals', 'listRentalHistory'],
  json: 'record',
  failure: 'Could not read the metrics.',
  async run(context, { args, flags }) {
    const seconds = parseDurationFlag('for', flags.for);
    const stepSeconds =
      flags.step === undefined ? stepSecondsOf(seconds, pointsShown) : parseDurationFlag('step', flags.step);
    const rentalId = await findRentalId(context, args.rental, { ended: true });
    const now = context.clock.now();
    const from = new Date(now.getTime() - seconds * 1_000).toISOString();
    const query = { rentalId, from, until: now.toISOString(), stepSeconds };
    const metrics = await context.client().rentals.getMetrics(query, { signal: context.signal });
    if (context.output.format === 'json') {
      printJson(context, metrics);
      return;
    }
    const measured = metrics.series.map(summariseSeries).filter(({ last }) => last !== '');
    printList(
      context,
      measured,
      [
        { name: 'measure', value: ({ name }) => name },
        { name: 'device', value: ({ device }) => device },
        { name: 'last', value: ({ last }) => last, align: 'right' },
        { name: 'mean', value: ({ mean }) => mean, align: 'right' },
        { name: 'most', value: ({ most }) => most, align: 'right' },
        { name: 'course', value: ({ course }) => course },
      ],
      { empty: 'Nothing was measured in this period. Monitoring must be enabled when a rental is created.' },
    );
  },
});
