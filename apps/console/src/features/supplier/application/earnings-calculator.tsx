import { parseUsd, usdText } from '@millrace/sdk/text';
import { useState } from 'react';
import { useApiQuery } from '../../../api/queries.ts';
import type { Installation } from '../../../api/session.tsx';
import { SelectField, TextField } from '../../../ui/field.tsx';
import { Form } from '../../../ui/form.tsx';
import { Money } from '../../../ui/money.tsx';
import { Card, KeyFigures } from '../../../ui/page.tsx';
import { Note, QueryView } from '../../../ui/states.tsx';
import {
  estimateEarnings,
  marketPrices,
  parsePercent,
  rentedPercent,
  type MarketPrices,
} from './earnings-estimate.ts';

type Terms = Installation['supplierTerms'];

const LISTED_MAX = 1_000;

function useMarketPrices() {
  return useApiQuery(
    ['marketplace', 'prices'],
    async (client, signal) => {
      const { items } = await client.marketplace.list({ filters: {}, limit: LISTED_MAX }, { signal });
      return marketPrices(items);
    },
    { refetchMs: 60_000 },
  );
}

/** Estimates monthly earnings from the machines that are listed now. */
export function EarningsCalculator({ terms }: Readonly<{ terms: Terms | undefined }>) {
  const market = useMarketPrices();
  return (
    <Card title="Expected earnings" about="An estimate from the machines on the marketplace now.">
      <QueryView query={market} what="marketplace prices">
        {(groups) => <Calculator key={groups[0]?.gpuModel ?? ''} groups={groups} terms={terms} />}
      </QueryView>
    </Card>
  );
}

interface CalculatorProps {
  readonly groups: readonly MarketPrices[];
  readonly terms: Terms | undefined;
}

const dollars = (nano: bigint): string => usdText(nano).slice(1);

interface Inputs {
  readonly gpuModel: string;
  readonly gpus: string;
  readonly price: string;
  readonly rented: string;
}

function inputsFor(group: MarketPrices | undefined, gpus: string): Inputs {
  if (group === undefined) return { gpuModel: '', gpus, price: '', rented: '' };
  const { gpuModel, medianNano } = group;
  return { gpuModel, gpus, price: dollars(medianNano), rented: String(rentedPercent(group)) };
}

function Calculator({ groups, terms }: CalculatorProps) {
  const [inputs, setInputs] = useState(() => inputsFor(groups[0], '8'));
  const [ownFee, setFee] = useState<string | null>(null);
  const fee = ownFee ?? String(terms?.feePercentage ?? '');
  const set = (change: Partial<Inputs>): void => setInputs((before) => ({ ...before, ...change }));
  const group = groups.find(({ gpuModel }) => gpuModel === inputs.gpuModel);
  return (
    <>
      {groups.length === 0 && (
        <div className="mb-3">
          <Note>No machines are listed now, so there are no prices to compare with. Enter your own.</Note>
        </div>
      )}
      <Form className="mb-4 grid grid-cols-1 items-end gap-3 sm:grid-cols-2">
        {groups.length > 0 && (
          <SelectField
            label="GPU model"
            value={inputs.gpuModel}
            choices={groups.map(({ gpuModel }) => ({ value: gpuModel, label: gpuModel }))}
            onValue={(next) =>
              set(
                inputsFor(
                  groups.find(({ gpuModel }) => gpuModel === next),
                  inputs.gpus,
                ),
              )
            }
          />
        )}
        <TextField label="GPUs" inputMode="numeric" value={inputs.gpus} onValue={(gpus) => set({ gpus })} />
        <MarketFields inputs={inputs} set={set} group={group} />
        <TextField
          label="Fee of the operator (%)"
          hint={
            terms?.feePercentage == null
              ? 'The operator sets it when it approves you and has not announced it.'
              : 'The usual fee. The operator states yours when it approves you.'
          }
          inputMode="decimal"
          placeholder="15"
          value={fee}
          onValue={setFee}
        />
      </Form>
      <EstimateFigures inputs={inputs} fee={fee} />
    </>
  );
}

interface MarketFieldsProps {
  readonly inputs: Inputs;
  readonly set: (change: Partial<Inputs>) => void;
  /** Undefined: no machine is listed. */
  readonly group: MarketPrices | undefined;
}

function MarketFields({ inputs, set, group }: MarketFieldsProps) {
  return (
    <>
      <TextField
        label="Price per GPU-hour (USD)"
        hint={
          group === undefined
            ? 'The price that tenants pay for one GPU and one hour.'
            : `Listed now: ${usdText(group.lowestNano)} to ${usdText(group.highestNano)}, median ${usdText(group.medianNano)}.`
        }
        inputMode="decimal"
        placeholder="2.00"
        value={inputs.price}
        onValue={(price) => set({ price })}
      />
      <TextField
        label="Time rented (%)"
        hint={
          group === undefined
            ? 'Share of the month in which your GPUs are rented.'
            : `${String(group.rented)} of ${String(group.gpus)} listed GPUs are rented now.`
        }
        inputMode="decimal"
        placeholder="50"
        value={inputs.rented}
        onValue={(rented) => set({ rented })}
      />
    </>
  );
}

function EstimateFigures({ inputs, fee }: Readonly<{ inputs: Inputs; fee: string }>) {
  const [price, rentedShare, feeShare] = [
    parseUsd(inputs.price),
    parsePercent(inputs.rented),
    parsePercent(fee),
  ];
  const isCount = /^[1-9]\d{0,3}$/.test(inputs.gpus.trim());
  if (!isCount || price === null || price <= 0n || rentedShare === null) {
    return (
      <p role="status" className="text-soft">
        Enter GPUs, a price and the time rented to see the estimate.
      </p>
    );
  }
  const { paidNano, feeNano, earnedNano } = estimateEarnings({
    gpus: BigInt(inputs.gpus.trim()),
    pricePerGpuHourNano: price,
    rentedShare,
    feeShare: feeShare ?? 0n,
  });
  const hasFee = feeShare !== null;
  return (
    <div role="status">
      <KeyFigures
        items={[
          { label: 'Tenants pay', value: <Money nano={paidNano} />, note: 'in 30 days' },
          {
            label: 'Fee',
            value: hasFee ? <Money nano={feeNano} /> : 'not known',
            note: hasFee ? `${fee} % of each charge` : 'ask the operator',
          },
          {
            label: hasFee ? 'You earn' : 'You earn, before the fee',
            value: <Money nano={earnedNano} />,
            note: 'in 30 days, before tax and electricity',
          },
        ]}
      />
    </div>
  );
}
