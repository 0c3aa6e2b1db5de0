import type { Input, Millrace } from '@millrace/sdk';
import { useRef, useState } from 'react';
import { nowMs } from '../../../api/clock.ts';
import { SelectField, TextField } from '../../../ui/field.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { instantToLocal, localToInstant } from '../common/local-time.ts';
import { PriceFields } from './price-fields.tsx';
import {
  currentPrice,
  emptyPriceForm,
  parsePrices,
  priceText,
  withCurrentModelPrices,
  type NewPrice,
  type Price,
  type PriceForm,
} from './price-form.ts';
import { TenantPreview } from './tenant-preview.tsx';
import { usePriceSources } from './use-price-sources.ts';

interface AddPriceProps {
  /** Current prices. */
  readonly now: readonly Price[];
  /** Null: list price. */
  readonly organisationId: string | null;
  /** Initial values of the form. */
  readonly start?: Partial<PriceForm>;
  readonly label?: string;
  readonly size?: 'small' | 'medium';
  readonly onSaved?: (form: PriceForm) => void;
}

/** Sets prices from now or a later time; shows what tenants will see before they are saved. */
export function AddPrice(props: AddPriceProps) {
  const { now, organisationId, start = {}, label = 'Set price', size = 'medium', onSaved } = props;
  const [isOpen, setOpen] = useState(false);
  const [form, setForm] = useState<PriceForm>(emptyPriceForm);
  const [starts, setStarts] = useState<'now' | 'later'>('now');
  const [from, setFrom] = useState('');
  const [until, setUntil] = useState('');
  const sources = usePriceSources(isOpen);
  // Prices that were saved before another one failed, so that a retry does not repeat them.
  const saved = useRef(new Map<string, Price>());
  const modality = sources.data?.models.find(({ name }) => name === form.model)?.modality ?? 'chat';
  const parsed = parsePrices(form, modality);
  const [validFrom, validUntil] = [localToInstant(from), localToInstant(until)];
  const set = (change: Partial<PriceForm>): void => setForm((before) => ({ ...before, ...change }));
  return (
    <ActionButton
      label={label}
      size={size}
      kind={size === 'medium' ? 'primary' : 'plain'}
      opensByHash={size === 'medium'}
      title={organisationId === null ? 'Set price' : 'Set contract price'}
      doing="Saving…"
      done={(prices: readonly Price[]) => `Saved: ${prices.map(priceText).join(', ')}.`}
      changes={['admin', 'catalog', 'models']}
      wait={
        ('issue' in parsed && parsed.issue) ||
        (starts === 'later' && validFrom == null && 'Enter a start.') ||
        (validUntil === undefined && 'Enter a complete date and time.')
      }
      onOpen={() => {
        setOpen(true);
        const started = { ...emptyPriceForm, ...start };
        setForm(withCurrentModelPrices(started, now));
        setStarts('now');
        setFrom(instantToLocal(nowMs() + 86_400_000));
        saved.current.clear();
      }}
      onDone={() => onSaved?.(form)}
      run={(client, reason) =>
        savePrices(client, saved.current, 'prices' in parsed ? parsed.prices : [], {
          validFrom: starts === 'now' ? null : (validFrom ?? ''),
          ...(validUntil == null ? {} : { validUntil }),
          ...(organisationId === null ? {} : { organisationId }),
          reason,
        })
      }
    >
      <PriceFields
        form={form}
        set={set}
        modality={modality}
        sources={sources.data}
        onModel={(model) => setForm((before) => withCurrentModelPrices({ ...before, model }, now))}
      />
      <PeriodFields
        starts={starts}
        onStarts={setStarts}
        from={from}
        onFrom={setFrom}
        until={until}
        onUntil={setUntil}
      />
      <TenantPreview
        form={form}
        prices={'prices' in parsed ? parsed.prices : []}
        replaced={'prices' in parsed ? parsed.prices.map(({ subject }) => currentPrice(now, subject)) : []}
        now={now}
        sources={sources.data}
        isContract={organisationId !== null}
      />
    </ActionButton>
  );
}

interface PeriodProps {
  readonly starts: 'now' | 'later';
  readonly onStarts: (starts: 'now' | 'later') => void;
  readonly from: string;
  readonly onFrom: (from: string) => void;
  readonly until: string;
  readonly onUntil: (until: string) => void;
}

function PeriodFields({ starts, onStarts, from, onFrom, until, onUntil }: PeriodProps) {
  return (
    <div className="grid grid-cols-1 items-end gap-3 sm:grid-cols-2">
      <SelectField
        label="Starts"
        value={starts}
        choices={[
          { value: 'now', label: 'Now' },
          { value: 'later', label: 'At a later time' },
        ]}
        onValue={onStarts}
      />
      {starts === 'later' && (
        <TextField label="From" type="datetime-local" value={from} issue="validFrom" onValue={onFrom} />
      )}
      <TextField
        label="Until (optional)"
        type="datetime-local"
        value={until}
        issue="validUntil"
        onValue={onUntil}
      />
    </div>
  );
}

type Terms = Omit<Input<'adminCreatePrice'>, keyof NewPrice | 'validFrom'> & {
  /** Null: now. */
  readonly validFrom: string | null;
};

/** Saves one price after the other. `saved` has those of an earlier attempt, which are not repeated. */
async function savePrices(
  client: Millrace,
  saved: Map<string, Price>,
  prices: readonly NewPrice[],
  { validFrom, ...terms }: Terms,
): Promise<readonly Price[]> {
  const start = validFrom ?? new Date(nowMs()).toISOString();
  const made: Price[] = [];
  for (const price of prices) {
    const key = JSON.stringify([price, validFrom, terms.validUntil]);
    const created =
      saved.get(key) ?? (await client.admin.prices.create({ ...price, ...terms, validFrom: start }));
    saved.set(key, created);
    made.push(created);
  }
  return made;
}
