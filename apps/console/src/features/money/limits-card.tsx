import type { Output } from '@millrace/sdk';
import { exactDuration } from '@millrace/sdk/text';
import { useApiQuery } from '../../api/queries.ts';
import { Card, DescriptionList } from '../../ui/page.tsx';
import { QueryView } from '../../ui/states.tsx';

type Limits = Output<'getLimits'>;

const names: Readonly<Record<string, string>> = {
  organisation: 'Requests of the organisation',
  key: 'Requests of this caller',
  'api-keys': 'API keys',
  budgets: 'Budgets',
};

const nameOf = (name: string): string => names[name] ?? name.replaceAll('-', ' ');
const count = new Intl.NumberFormat();

function factsOf({ rateLimits, quotas }: Limits): (readonly [string, string])[] {
  return [
    ...rateLimits.map(({ name, limit, unit, windowSeconds, model }): readonly [string, string] => [
      model === null ? nameOf(name) : `${nameOf(name)}, ${model}`,
      `${count.format(limit)} ${unit} in ${exactDuration(windowSeconds)}`,
    ]),
    ...quotas.map(({ name, limit, used }): readonly [string, string] => [
      nameOf(name),
      limit === null ? `${count.format(used)}, no limit` : `${count.format(used)} of ${count.format(limit)}`,
    ]),
  ];
}

export function LimitsCard() {
  const limits = useApiQuery(['money', 'limits'], (client, signal) => client.limits.get({}, { signal }));
  return (
    <Card title="Limits" about="How much you may ask for at once.">
      <QueryView query={limits} what="limits">
        {(data) => (
          <>
            <DescriptionList items={factsOf(data)} />
            {data.fundedAt === null && (
              <p className="text-soft mt-3">
                Deposits of $5 in all lift the limit on requests, once and for all.
              </p>
            )}
          </>
        )}
      </QueryView>
    </Card>
  );
}
