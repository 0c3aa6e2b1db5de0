import { ImagePlus } from 'lucide-react';
import { useState } from 'react';
import { useSession } from '../../api/session.tsx';
import { SelectField, TextArea, TextField } from '../../ui/field.tsx';
import { LiveCost, Money } from '../../ui/money.tsx';
import {
  decodeBase64,
  imagePrice,
  imageSizes,
  detectImageType,
  parseImageFields,
  stepsDefault,
  type ImageErrors,
  type ImageFields,
  type ImageRequest,
} from './media.ts';
import { GenerationCard } from './generation-card.tsx';
import { PanelLayout, type PanelProps } from './panel-layout.tsx';
import { useModelPrice } from './use-gateway.ts';
import { useGeneration } from './use-generation.ts';

const unset: ImageFields = { size: '1024x1024', steps: String(stepsDefault), count: '1', seed: '' };

export function ImagePanel({ gateway, model, select }: PanelProps) {
  const generation = useGeneration(gateway);
  const [fields, setFields] = useState(unset);
  const [prompt, setPrompt] = useState('');
  const read = parseImageFields(fields);
  const errors = read.ok ? {} : read.errors;
  const off = (!read.ok && 'Correct the marked setting.') || (prompt.trim() === '' && 'Enter a prompt.');
  const send = (): void => {
    if (!read.ok) return;
    const { request, seed } = read;
    void generation.make(prompt, async (models, signal) => {
      const { data, requestId } = await models.images
        .create(
          {
            model: model.id,
            prompt: prompt.trim(),
            size: fields.size,
            n: request.count,
            num_inference_steps: request.steps,
            ...(seed !== null && { seed }),
          },
          { signal },
        )
        .withResponse();
      const blobs = data.data.map(({ b64_json }, index) => {
        const bytes = decodeBase64(b64_json);
        const { type, ending } = detectImageType(bytes);
        return { blob: new Blob([bytes], { type }), name: `image-${String(index + 1)}.${ending}` };
      });
      return { blobs, requestId };
    });
  };
  const { steps, count } = read.ok ? read.request : { steps: stepsDefault, count: 1 };
  return (
    <PanelLayout
      model={model}
      select={select}
      settings={<Settings fields={fields} onChange={setFields} errors={errors} />}
      request={{
        kind: 'image',
        model: model.id,
        prompt: prompt.trim() || 'a water mill at dusk',
        size: fields.size,
        n: count,
        steps,
        ...(read.ok && read.seed !== null && { seed: read.seed }),
      }}
    >
      <GenerationCard
        title="Image"
        generation={generation}
        field={<TextArea label="Prompt" rows={3} maxLength={20_000} value={prompt} onValue={setPrompt} />}
        cost={<Cost model={model.id} request={read.ok ? read.request : null} />}
        button="Generate image"
        icon={<ImagePlus aria-hidden className="size-4" />}
        off={off}
        doing="Generating…"
        onMake={send}
        what="image"
        empty="Describe the image to generate."
        show={({ url }, about) => (
          <img src={url} alt={about} className="border-line max-h-[70vh] max-w-full rounded-md border" />
        )}
      />
    </PanelLayout>
  );
}

function Settings({
  fields,
  onChange,
  errors,
}: Readonly<{ fields: ImageFields; onChange: (fields: ImageFields) => void; errors: ImageErrors }>) {
  const set = (field: keyof ImageFields) => (value: string) => onChange({ ...fields, [field]: value });
  return (
    <>
      <SelectField
        label="Size"
        value={fields.size}
        onValue={set('size')}
        error={errors.size}
        choices={imageSizes.map((size) => ({ value: size, label: size.replace('x', ' x ') }))}
      />
      <TextField
        label="Steps"
        hint="Number of refinement steps."
        inputMode="numeric"
        value={fields.steps}
        onValue={set('steps')}
        error={errors.steps}
      />
      <TextField
        label="Number of images"
        inputMode="numeric"
        value={fields.count}
        onValue={set('count')}
        error={errors.count}
      />
      <TextField
        label="Seed"
        hint="The same seed gives the same image. Leave empty for a random one."
        inputMode="numeric"
        value={fields.seed}
        onValue={set('seed')}
        error={errors.seed}
      />
    </>
  );
}

function Cost({ model, request }: Readonly<{ model: string; request: ImageRequest | null }>) {
  const { mode } = useSession().place;
  const { data: price } = useModelPrice(model);
  const prices = mode === 'test' ? price?.live : price;
  const each = prices?.image_nano_usd ?? null;
  const amount = each === null || request === null ? null : imagePrice(BigInt(each), request);
  if (mode === 'test') {
    return (
      <span className="text-soft">
        Free in test mode
        <LiveCost nano={amount ?? undefined} />
      </span>
    );
  }
  return (
    amount !== null && (
      <span>
        Costs <Money nano={amount} />
      </span>
    )
  );
}
