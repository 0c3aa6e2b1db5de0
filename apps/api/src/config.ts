import { apiFragments, fragment, loadConfig, values, type Environment } from '@millrace/platform/config';
import { defaultPriceRules } from '@millrace/core/suppliers';
import { fromPercentage, parseUsd, zeroUsd } from '@millrace/platform/money';

const drainConfig = fragment('drain', {
  ms: {
    env: 'MILLRACE_DRAIN_MS',
    schema: values.wholeNumber(0, 600_000).default(30_000),
    expected: 'how long requests may take to finish at shutdown, in milliseconds, 0 to 600000',
    example: '30000',
  },
});

const statusPageConfig = fragment('statusPage', {
  noticeFile: {
    env: 'MILLRACE_STATUS_NOTICE_FILE',
    schema: values.text.nullable().default(null),
    expected: 'the path of a text that the public status page shows while the file exists',
    example: '/etc/millrace/status.txt',
  },
});

const maintenanceConfig = fragment('maintenance', {
  drainHours: {
    env: 'MILLRACE_MAINTENANCE_DRAIN_HOURS',
    schema: values.wholeNumber(0, 720).default(24),
    expected: 'how long before maintenance placement on its nodes stops, in hours, 0 to 720',
    example: '24',
  },
});

const usd = values.text.transform((text, issue) => {
  const amount = parseUsd(text);
  if (amount !== null && amount > 0n) return amount;
  issue.addIssue({ code: 'custom', message: 'it is not an amount above zero with at most nine decimals' });
  return zeroUsd;
});

const percentage = values.text.transform((text, issue) => {
  const value = Number(text);
  if (text.trim() !== '' && fromPercentage(value) !== null) return value;
  issue.addIssue({ code: 'custom', message: 'it is not a percentage with at most four decimals' });
  return 0;
});

const marketplacePricesConfig = fragment(
  'marketplacePrices',
  {
    least: {
      env: 'MILLRACE_MARKETPLACE_LEAST_USD_PER_GPU_HOUR',
      schema: usd.default(defaultPriceRules.least),
      expected: 'the lowest price that suppliers may set for one GPU and hour, in USD',
      example: '0.05',
    },
    most: {
      env: 'MILLRACE_MARKETPLACE_MOST_USD_PER_GPU_HOUR',
      schema: usd.default(defaultPriceRules.most),
      expected: 'the highest price that suppliers may set for one GPU and hour, in USD',
      example: '20',
    },
    feePercentage: {
      env: 'MILLRACE_MARKETPLACE_FEE_PERCENTAGE',
      schema: percentage.nullable().default(null),
      expected: 'the usual fee of suppliers, shown before they apply, in percent, 0 to 100',
      example: '15',
    },
  },
  ({ least, most }) =>
    least <= most
      ? []
      : [
          {
            env: 'MILLRACE_MARKETPLACE_LEAST_USD_PER_GPU_HOUR',
            problem: 'is more than MILLRACE_MARKETPLACE_MOST_USD_PER_GPU_HOUR',
            example: '0.05',
          },
        ],
);

export function loadApiConfig(env?: Environment) {
  return loadConfig(
    [...apiFragments, drainConfig, maintenanceConfig, marketplacePricesConfig, statusPageConfig],
    env,
  );
}

export type ApiConfig = ReturnType<typeof loadApiConfig>;
