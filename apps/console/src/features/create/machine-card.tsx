import { usdText } from '@millrace/sdk/text';
import { SelectField, TextField } from '../../ui/field.tsx';
import { LiveCost, PerHour } from '../../ui/money.tsx';
import { Card } from '../../ui/page.tsx';
import { filterChoices, hardwareText, isFree, type Offer } from '../catalog/offers.ts';
import { networkText } from '../rentals/rental.ts';
import { ChoiceGroup, ChoiceTile } from './choice.tsx';
import { FORM_ID } from './form-id.ts';
import {
  countIssue,
  GPUS_PER_NODE,
  locationValue,
  locationsFor,
  sizesFor,
  type RentalSelection,
  type RentalSpec,
} from '../catalog/selection.ts';

/** GPU, size and location; each choice is stored in the URL. */
export function MachineCard({
  spec,
  offers,
  onPick,
}: Readonly<{ spec: RentalSpec; offers: readonly Offer[]; onPick: (change: RentalSelection) => void }>) {
  const places = locationsFor(spec, offers);
  const isListed = places.some(({ value }) => value === locationValue(spec));
  return (
    <Card title="Machine">
      <div className="flex flex-col gap-4">
        <div className="grid gap-3 sm:grid-cols-2">
          <SelectField
            label="GPU"
            form={FORM_ID}
            value={spec.gpu}
            onValue={(gpu) => onPick({ gpu })}
            choices={withChosen(filterChoices(offers).gpus, spec.gpu).map((value) => ({
              value,
              label: value.toUpperCase(),
            }))}
          />
          <SelectField
            label="Machine type"
            form={FORM_ID}
            value={spec.type}
            onValue={(value) => onPick(selectionForType(value, spec))}
            choices={[
              { value: 'virtual-machine', label: 'Virtual machine' },
              { value: 'bare-metal', label: 'Bare metal (whole nodes)' },
            ]}
          />
        </div>
        <SelectField
          label="Region and network"
          form={FORM_ID}
          value={locationValue(spec)}
          onValue={(chosen) => {
            const place = places.find(({ value }) => value === chosen);
            if (place !== undefined) onPick({ region: place.region, network: place.network });
          }}
          hint={spec.network === 'infiniband' ? 'All nodes share one InfiniBand fabric.' : undefined}
          choices={[
            ...(isListed
              ? []
              : [
                  {
                    value: locationValue(spec),
                    label: `${spec.region}, ${networkText(spec.network)} (not available)`,
                  },
                ]),
            ...places.map(({ value, region, network, perGpuNano, hasRoom, isOpen }) => ({
              value,
              label: `${region}, ${networkText(network)}: ${usdText(perGpuNano)} per GPU-hour, ${capacityText(hasRoom, isOpen)}`,
            })),
          ]}
        />
        <Sizes spec={spec} sizes={sizesFor(spec, offers)} onPick={onPick} />
      </div>
    </Card>
  );
}

function withChosen(values: readonly string[], chosen: string): readonly string[] {
  return values.includes(chosen) ? values : [...values, chosen];
}

function capacityText(hasRoom: boolean, isOpen: boolean): string {
  if (!isOpen) return 'closed';
  return hasRoom ? 'available' : 'sold out in this size';
}

/** Machine types are sold in different locations and sizes, so choose the location again. */
function selectionForType(value: string, spec: RentalSpec): RentalSelection {
  return value === 'bare-metal'
    ? { type: 'bare-metal', gpu: spec.gpu, count: Math.max(GPUS_PER_NODE, spec.count) }
    : { type: 'virtual-machine', gpu: spec.gpu, count: Math.min(GPUS_PER_NODE, spec.count) };
}

function Sizes({
  spec,
  sizes,
  onPick,
}: Readonly<{ spec: RentalSpec; sizes: readonly Offer[]; onPick: (change: RentalSelection) => void }>) {
  const isMetal = spec.type === 'bare-metal';
  return (
    <>
      {sizes.length > 0 && (
        <ChoiceGroup legend={isMetal ? 'Nodes' : 'GPUs'}>
          {sizes.map((offer) => (
            <ChoiceTile
              key={offer.gpuCount}
              name="size"
              checked={offer.gpuCount === spec.count}
              onChoose={() => onPick({ count: offer.gpuCount })}
            >
              <span className="flex flex-wrap justify-between gap-x-3 font-medium">
                {sizeText(offer)}
                <span>
                  <PerHour nano={offer.pricePerHourNanoUsd} />
                  <LiveCost nano={offer.livePricePerHourNanoUsd} perHour />
                </span>
              </span>
              <span className="text-soft text-xs">{hardwareText(offer)}</span>
              <span className={`text-xs ${isFree(offer) ? 'text-good' : 'text-warn'}`}>
                {isFree(offer) ? `${String(offer.totalAvailable)} available` : 'sold out'}
              </span>
            </ChoiceTile>
          ))}
        </ChoiceGroup>
      )}
      <TextField
        label={isMetal ? 'Total GPUs' : 'Number of GPUs'}
        hint={isMetal ? 'In steps of 8: each node has 8 GPUs.' : 'Or enter another count.'}
        form={FORM_ID}
        type="number"
        min={isMetal ? GPUS_PER_NODE : 1}
        step={isMetal ? GPUS_PER_NODE : 1}
        value={spec.count}
        onValue={(text) => {
          const count = Number(text);
          if (Number.isInteger(count) && count >= 1) onPick({ count });
        }}
        error={countIssue(spec) ?? undefined}
        className="max-w-32"
      />
    </>
  );
}

function sizeText({ gpuCount, nodes, machineType }: Offer): string {
  const gpus = gpuCount === 1 ? '1 GPU' : `${String(gpuCount)} GPUs`;
  if (machineType === 'virtual-machine') return gpus;
  return nodes.length === 1 ? `1 node, ${gpus}` : `${String(nodes.length)} nodes, ${gpus}`;
}
