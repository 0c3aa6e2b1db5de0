import { Button } from '../../../ui/button.tsx';
import { SelectField, TextField } from '../../../ui/field.tsx';
import { TextLink } from '../../../ui/link.tsx';
import { Note } from '../../../ui/states.tsx';
import {
  modelUnitLabels,
  shownPrice,
  unitOfKind,
  unitOfModelUnit,
  unitsOfModality,
  type ModelModality,
  type ModelUnit,
  type PriceForm,
  type PriceKind,
} from './price-form.ts';
import { presetGpuTypes, presetsFor } from './price-presets.ts';
import type { PriceSources } from './use-price-sources.ts';

const kinds: readonly { readonly value: PriceKind; readonly label: string }[] = [
  { value: 'gpu', label: 'Machine with GPUs' },
  { value: 'model', label: 'Model' },
  { value: 'volume', label: 'Volume storage' },
  { value: 'disk', label: 'Disk of a stopped rental' },
];

interface FieldsProps {
  readonly form: PriceForm;
  readonly set: (change: Partial<PriceForm>) => void;
  readonly modality: ModelModality;
  /** Undefined while loading. */
  readonly sources: PriceSources | undefined;
}

const perText = (unit: Parameters<typeof shownPrice>[0]['unit']): string =>
  shownPrice({ priceNanoUsd: '0', unit }).per;

/** Product, presets and amounts. */
export function PriceFields(props: FieldsProps & { readonly onModel: (model: string) => void }) {
  const { form, set, modality, sources, onModel } = props;
  return (
    <>
      <SelectField
        label="Product"
        value={form.kind}
        choices={kinds}
        onValue={(kind) => set({ kind, amount: '' })}
      />
      {form.kind === 'model' && <ModelField {...props} onModel={onModel} />}
      <Presets form={form} set={set} modality={modality} />
      {form.kind !== 'model' && <PlaceFields form={form} set={set} sources={sources} />}
      {form.kind === 'model' ? (
        <ModelAmounts form={form} set={set} modality={modality} />
      ) : (
        <TextField
          label={`Price (USD ${perText(unitOfKind(form.kind))})`}
          inputMode="decimal"
          placeholder={form.kind === 'gpu' ? '2.49' : '0.0001'}
          value={form.amount}
          issue="priceNanoUsd"
          onValue={(amount) => set({ amount })}
        />
      )}
    </>
  );
}

function Presets({ form, set, modality }: Pick<FieldsProps, 'form' | 'set' | 'modality'>) {
  return (
    <div role="group" aria-label="Example prices">
      <p className="text-soft mb-1 text-xs">Example prices. Change them to fit your costs.</p>
      <div className="flex flex-wrap gap-1.5">
        {presetsFor(form.kind, modality).map(({ label, change }) => (
          <Button key={label} size="small" onClick={() => set(change)}>
            {label}
          </Button>
        ))}
      </div>
    </div>
  );
}

function ModelField({ form, sources, onModel }: FieldsProps & { readonly onModel: (model: string) => void }) {
  if (sources?.models.length === 0) {
    return (
      <Note tone="warn">
        There is no model yet. <TextLink to="/operator/models">Add a model</TextLink> first.
      </Note>
    );
  }
  return (
    <SelectField
      label="Model"
      value={form.model}
      choices={[
        { value: '', label: sources === undefined ? 'Loading models…' : 'Choose a model' },
        ...(sources?.models ?? []).map(({ name }) => ({ value: name, label: name })),
      ]}
      onValue={onModel}
    />
  );
}

const optionalUnits: readonly ModelUnit[] = ['cached_prompt_token'];

function ModelAmounts({ form, set, modality }: Pick<FieldsProps, 'form' | 'set' | 'modality'>) {
  const units = unitsOfModality(modality);
  const label = (unit: ModelUnit): string => {
    const name = modelUnitLabels[unit];
    const words = `${name.charAt(0).toUpperCase()}${name.slice(1)} (USD ${perText(unitOfModelUnit(unit))})`;
    return optionalUnits.includes(unit) ? `${words}, optional` : words;
  };
  return (
    <div className="flex flex-col gap-3">
      {units.map((unit) => (
        <TextField
          key={unit}
          label={label(unit)}
          {...(unit === 'cached_prompt_token' && {
            hint: 'Leave empty to charge cached input like other input.',
          })}
          inputMode="decimal"
          placeholder="0.15"
          value={form.modelAmounts[unit] ?? ''}
          onValue={(amount) => set({ modelAmounts: { ...form.modelAmounts, [unit]: amount } })}
        />
      ))}
    </div>
  );
}

function PlaceFields({ form, set, sources }: Pick<FieldsProps, 'form' | 'set' | 'sources'>) {
  const regions = new Set(
    (sources?.providers ?? []).flatMap(({ regions: all }) => all.map((each) => each.region)),
  );
  if (form.region !== '') regions.add(form.region);
  const region = (
    <SelectField
      label="Region"
      value={form.region}
      choices={[
        { value: '', label: 'All regions' },
        ...[...regions].toSorted().map((value) => ({ value, label: value })),
      ]}
      onValue={(next) => set({ region: next })}
    />
  );
  if (form.kind !== 'gpu') return region;
  const inFleet = (sources?.nodes ?? []).flatMap(({ gpus }) => gpus.map(({ gpuType }) => gpuType));
  const gpuTypes = new Set([
    ...presetGpuTypes,
    form.gpuType,
    ...inFleet.filter((each) => each !== 'unknown'),
  ]);
  return (
    <div className="grid grid-cols-1 items-end gap-3 sm:grid-cols-2">
      <SelectField
        label="GPU"
        value={form.gpuType}
        choices={[...gpuTypes].map((value) => ({ value, label: value.toUpperCase() }))}
        onValue={(gpuType) => set({ gpuType })}
      />
      <SelectField
        label="Machine"
        value={form.machineType}
        choices={[
          { value: 'virtual-machine', label: 'Virtual machine' },
          { value: 'bare-metal', label: 'Bare metal' },
        ]}
        onValue={(machineType) => set({ machineType })}
      />
      {region}
      <SelectField
        label="Network"
        value={form.networkType}
        choices={[
          { value: '', label: 'All networks' },
          { value: 'ethernet', label: 'Ethernet' },
          { value: 'infiniband', label: 'InfiniBand' },
        ]}
        onValue={(networkType) => set({ networkType })}
      />
    </div>
  );
}
