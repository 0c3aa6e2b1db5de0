import { useState } from 'react';
import { nowMs } from '../../../api/clock.ts';
import { SelectField, TextField } from '../../../ui/field.tsx';
import { Note } from '../../../ui/states.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { localToInstant, instantToLocal } from '../common/local-time.ts';
import {
  emptyPriceForm,
  modelUnits,
  currentPrice,
  priceText,
  parsePrice,
  toPriceSubject,
  subjectText,
  priceUnit,
  unitText,
  type Price,
  type PriceForm,
  type PriceKind,
} from './price-form.ts';

const kinds: readonly { readonly value: PriceKind; readonly label: string }[] = [
  { value: 'gpu', label: 'Rental GPU' },
  { value: 'volume', label: 'Volume storage' },
  { value: 'disk', label: 'Disk of a stopped rental' },
  { value: 'model', label: 'Model' },
];

/** Sets a price from a given time; the dialog also shows the current one. */
export function AddPrice({
  now,
  organisationId,
}: Readonly<{
  now: readonly Price[];
  /** Null: list price. */
  organisationId: string | null;
}>) {
  const [form, setForm] = useState(emptyPriceForm);
  const [from, setFrom] = useState('');
  const [until, setUntil] = useState('');
  const [validFrom, validUntil] = [localToInstant(from), localToInstant(until)];
  const read = parsePrice(form);
  const set = (change: Partial<PriceForm>): void => setForm({ ...form, ...change });
  const before = currentPrice(now, form);
  const after = 'nano' in read ? { priceNanoUsd: read.nano.toString(), unit: priceUnit(form) } : null;
  return (
    <ActionButton
      run={(client, reason) =>
        client.admin.prices.create({
          subject: toPriceSubject(form),
          unit: priceUnit(form),
          priceNanoUsd: after?.priceNanoUsd ?? '',
          validFrom: validFrom ?? '',
          ...(validUntil == null ? {} : { validUntil }),
          ...(organisationId === null ? {} : { organisationId }),
          reason,
        })
      }
      label="Set price"
      size="medium"
      kind="primary"
      title={organisationId === null ? 'Set price' : 'Set contract price'}
      doing="Saving…"
      done={(price) => `Price set: ${priceText(price)}.`}
      changes={['admin', 'catalog', 'models']}
      wait={
        ('issue' in read && read.issue) ||
        (validFrom == null && 'Enter a start.') ||
        (validUntil === undefined && 'Enter a complete date and time.')
      }
      onOpen={() => setFrom(instantToLocal(nowMs()))}
    >
      <SelectField label="Product" value={form.kind} choices={kinds} onValue={(kind) => set({ kind })} />
      <SubjectFields form={form} set={set} />
      <TextField
        label={`Price (USD ${unitText(priceUnit(form))})`}
        inputMode="decimal"
        placeholder="2.49"
        value={form.amount}
        issue="priceNanoUsd"
        onValue={(amount) => set({ amount })}
      />
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <TextField label="From" type="datetime-local" value={from} issue="validFrom" onValue={setFrom} />
        <TextField
          label="Until (optional)"
          type="datetime-local"
          value={until}
          issue="validUntil"
          onValue={setUntil}
        />
      </div>
      <Note>
        {organisationId === null
          ? before === undefined
            ? 'No current price.'
            : `Current price: ${priceText(before)}.`
          : 'Applies only to this organisation and overrides list prices.'}{' '}
        {after !== null && `New price: ${priceText(after)}, ${subjectText(toPriceSubject(form))}.`} Running
        rentals keep their price.
      </Note>
    </ActionButton>
  );
}

function SubjectFields(props: Readonly<{ form: PriceForm; set: (change: Partial<PriceForm>) => void }>) {
  const { form, set } = props;
  if (form.kind === 'model') {
    return (
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <TextField
          label="Model"
          placeholder="model name in the catalog"
          value={form.model}
          onValue={(model) => set({ model })}
        />
        <SelectField
          label="Unit"
          value={form.modelUnit}
          choices={modelUnits.map((value) => ({ value, label: value.replaceAll('_', ' ') }))}
          onValue={(modelUnit) => set({ modelUnit })}
        />
      </div>
    );
  }
  const region = (
    <TextField
      label="Region"
      hint="Leave empty for all regions."
      value={form.region}
      onValue={(region) => set({ region })}
    />
  );
  if (form.kind !== 'gpu') return region;
  return (
    <div className="grid grid-cols-1 items-end gap-3 sm:grid-cols-2">
      <TextField
        label="GPU"
        placeholder="h100"
        value={form.gpuType}
        onValue={(gpuType) => set({ gpuType })}
      />
      <SelectField
        label="Machine"
        value={form.machineType}
        choices={[
          { value: 'virtual-machine', label: 'virtual machine' },
          { value: 'bare-metal', label: 'bare metal' },
        ]}
        onValue={(machineType) => set({ machineType })}
      />
      {region}
      <SelectField
        label="Network"
        value={form.networkType}
        choices={[
          { value: '', label: 'all networks' },
          { value: 'ethernet', label: 'ethernet' },
          { value: 'infiniband', label: 'infiniband' },
        ]}
        onValue={(networkType) => set({ networkType })}
      />
    </div>
  );
}
