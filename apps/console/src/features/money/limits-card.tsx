import type { Output } from '@millrace/sdk';
import { exactDuration } from '@millrace/sdk/text';
import { useApiQuery } from '../../api/queries.ts';
import { useInstallation } from '../../api/session.tsx';
import { Card, DescriptionList } from '../../ui/page.tsx';
import { QueryView } from '../../ui/states.tsx';

type Limits = Output<'getLimits'>;

const names: Readonly<Record<string, string>> = {
  organisation: 'Organisation requests',
  key: 'Your requests',
  'api-keys': 'API keys',
  budgets: 'Budgets',
};

const nameOf = (name: string): string => names[name] ?? name.replaceAll('-', ' ');
const count = new Intl.NumberFormat();

function factsOf({ rateLimits, quotas }: Limits): (readonly [string, string])[] {
  return [
    ...rateLimits.map(({ name, limit, unit, windowSeconds, model }): readonly [string, string] => [
      model === null ? nameOf(name) : `${nameOf(name)}, ${model}`,
      `${count.format(limit)} ${unit} per ${windowSeconds === 60 ? 'minute' : exactDuration(windowSeconds)}`,
    ]),
    ...quotas.map(({ name, limit, used }): readonly [string, string] => [
      nameOf(name),
      limit === null ? `${count.format(used)}, no limit` : `${count.format(used)} of ${count.format(limit)}`,
    ]),
  ];
}

export function LimitsCard() {
  const limits = useApiQuery(['money', 'limits'], (client, signal) => client.limits.get({}, { signal }));
  const acceptsCards = useInstallation().data?.topUp === true;
  return (
    <Card title="Limits" about="Your rate limits and quotas.">
      <QueryView query={limits} what="limits">
        {(data) => (
          <>
            <DescriptionList items={factsOf(data)} />
            {acceptsCards && data.fundedAt === null && (
              <p className="text-soft mt-3">
                Deposit $5 in total to raise your rate limit permanently. Credit from the operator does not
                count.
              </p>
            )}
          </>
        )}
      </QueryView>
    </Card>
  );
}
