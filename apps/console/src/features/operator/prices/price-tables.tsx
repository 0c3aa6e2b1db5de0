import { Link } from '@tanstack/react-router';
import { nowMs } from '../../../api/clock.ts';
import { Badge } from '../../../ui/badge.tsx';
import { Money } from '../../../ui/money.tsx';
import { Card } from '../../../ui/page.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { TextLink } from '../../../ui/link.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { OrganisationName } from '../common/organisation-name.tsx';
import { AddPrice } from './add-price.tsx';
import { groupModelPrices, type ModelPrices } from './model-prices.ts';
import {
  modelUnitLabels,
  monthlyText,
  priceText,
  shownPrice,
  subjectText,
  type ModelUnit,
  type Price,
  type PriceForm,
} from './price-form.ts';

export function EndPrices({ prices, what }: Readonly<{ prices: readonly Price[]; what: string }>) {
  const isOver = prices.every(({ validUntil }) => validUntil !== null && Date.parse(validUntil) <= nowMs());
  return (
    <ActionButton
      label="End price"
      title={`End price of ${what}`}
      kind="danger"
      doing="Ending…"
      done="Price ended."
      off={isOver && 'The price has already ended.'}
      changes={['admin', 'catalog', 'models']}
      run={async (client, reason) => {
        for (const { id: priceId } of prices) await client.admin.prices.end({ priceId, reason });
      }}
    >
      <p>
        {prices.map(priceText).join(', ')} no longer applies to new rentals and requests. The previous or a
        less specific price applies again. Without one, tenants do not see the product. Running rentals keep
        their price.
      </p>
    </ActionButton>
  );
}

/** Contract prices link to their organisation. */
function Contract({ organisationId }: Readonly<{ organisationId: string | null }>) {
  if (organisationId === null) return null;
  return (
    <Link to="/operator/organisations/$organisationId" params={{ organisationId }}>
      <Badge tone="info">
        contract: <OrganisationName id={organisationId} />
      </Badge>
    </Link>
  );
}

const subjectColumn: Column<Price> = {
  head: 'Product',
  main: true,
  cell: ({ subject, organisationId }) => (
    <>
      {subjectText(subject)} <Contract organisationId={organisationId} />
    </>
  ),
};

function PriceAmount({ price }: Readonly<{ price: Pick<Price, 'priceNanoUsd' | 'unit'> }>) {
  const { nano, per } = shownPrice(price);
  const monthly = monthlyText(price);
  return (
    <>
      <Money nano={nano} />
      <span className="text-soft block text-xs">{per}</span>
      {monthly !== null && <span className="text-soft block text-xs">about {monthly}</span>}
    </>
  );
}

const amountColumn: Column<Price> = {
  head: 'Price',
  right: true,
  cell: (price) => <PriceAmount price={price} />,
};

const periodColumns: readonly Column<Price>[] = [
  { head: 'From', cell: ({ validFrom }) => <Timestamp at={validFrom} /> },
  {
    head: 'Until',
    cell: ({ validUntil }) => (validUntil === null ? 'no end' : <Timestamp at={validUntil} />),
  },
];

/** Columns of the list of single prices. */
export const priceColumns: readonly Column<Price>[] = [
  subjectColumn,
  amountColumn,
  ...periodColumns,
  { head: 'Actions', cell: (price) => <EndPrices prices={[price]} what={subjectText(price.subject)} /> },
];

function formOf({ subject }: Price): Partial<PriceForm> {
  if (subject.kind === 'model') return { kind: 'model', model: subject.model };
  const region = subject.region ?? '';
  if (subject.kind !== 'gpu') return { kind: subject.kind, region };
  const { gpuType, machineType, networkType } = subject;
  return { kind: 'gpu', gpuType, machineType, region, networkType: networkType ?? '' };
}

interface CurrentProps {
  readonly prices: readonly Price[];
  readonly onSaved: (form: PriceForm) => void;
}

/** Current prices by product; models have one row each. */
export function CurrentPrices({ prices, onSaved }: CurrentProps) {
  const actions = (price: Price) => (
    <span className="flex flex-wrap justify-end gap-1 md:justify-start">
      <AddPrice
        label="Change"
        size="small"
        now={prices}
        organisationId={price.organisationId}
        start={formOf(price)}
        onSaved={onSaved}
      />
      <EndPrices prices={[price]} what={subjectText(price.subject)} />
    </span>
  );
  const columns: readonly Column<Price>[] = [
    subjectColumn,
    amountColumn,
    ...periodColumns,
    { head: 'Actions', cell: actions },
  ];
  const machines = prices.filter(({ subject }) => subject.kind === 'gpu');
  const storage = prices.filter(({ subject }) => subject.kind === 'volume' || subject.kind === 'disk');
  const models = groupModelPrices(prices);
  return (
    <>
      {machines.length > 0 && (
        <Card title="Machines" flush>
          <Table caption="Prices of machines" columns={columns} rows={machines} />
        </Card>
      )}
      {models.length > 0 && (
        <Card title="Models" about="USD per million tokens, per image or per character." flush>
          <Table
            caption="Prices of models"
            columns={modelColumns(prices, onSaved)}
            rows={models}
            rowKey={({ model, organisationId }) => `${model} ${organisationId ?? ''}`}
          />
        </Card>
      )}
      {storage.length > 0 && (
        <Card title="Storage" flush>
          <Table caption="Prices of storage" columns={columns} rows={storage} />
        </Card>
      )}
    </>
  );
}

function modelColumns(
  prices: readonly Price[],
  onSaved: (form: PriceForm) => void,
): readonly Column<ModelPrices>[] {
  const amount = (head: string, ...units: readonly ModelUnit[]): Column<ModelPrices> => ({
    head,
    right: true,
    cell: ({ byUnit }) => {
      const found = units.flatMap((unit) => byUnit.get(unit) ?? []);
      return found.length === 0
        ? '–'
        : found.map((price) => (
            <span key={price.id} className="block">
              <Money nano={shownPrice(price).nano} />
              {units.length > 1 && price.subject.kind === 'model' && (
                <span className="text-soft"> per {modelUnitLabels[price.subject.unit]}</span>
              )}
            </span>
          ));
    },
  });
  return [
    {
      head: 'Model',
      main: true,
      cell: ({ model, organisationId }) => (
        <>
          <TextLink to="/operator/models" search={{ model }} className="break-all">
            {model}
          </TextLink>{' '}
          <Contract organisationId={organisationId} />
        </>
      ),
    },
    amount('Input', 'prompt_token'),
    amount('Cached input', 'cached_prompt_token'),
    amount('Output', 'completion_token'),
    amount('Other', 'image', 'character'),
    {
      head: 'Actions',
      cell: ({ model, organisationId, byUnit }) => (
        <span className="flex flex-wrap justify-end gap-1 md:justify-start">
          <AddPrice
            label="Change"
            size="small"
            now={prices}
            organisationId={organisationId}
            start={{ kind: 'model', model }}
            onSaved={onSaved}
          />
          <EndPrices prices={[...byUnit.values()]} what={model} />
        </span>
      ),
    },
  ];
}
