import { AudioLines } from 'lucide-react';
import { useState } from 'react';
import { useSession } from '../../api/session.tsx';
import { TextArea, TextField } from '../../ui/field.tsx';
import { Money } from '../../ui/money.tsx';
import { parseNumber } from './chat.ts';
import { countCharacters, speechMax, speechPrice } from './media.ts';
import { GenerationCard } from './generation-card.tsx';
import { PanelLayout, type PanelProps } from './panel-layout.tsx';
import { useModelPrice } from './use-gateway.ts';
import { useGeneration, type OutputFile } from './use-generation.ts';

const showSpeech = ({ url }: OutputFile, about: string) => (
  // What it says stands in the field above it.
  // oxlint-disable-next-line jsx-a11y/media-has-caption
  <audio controls src={url} aria-label={`Speech: ${about.slice(0, 60)}`} className="w-80 max-w-full" />
);

export function SpeechPanel({ gateway, model, select }: PanelProps) {
  const generation = useGeneration(gateway);
  const [text, setText] = useState('');
  const [voice, setVoice] = useState('alloy');
  const [speed, setSpeed] = useState('');
  const input = text.trim();
  const fast = parseNumber(speed);
  const isWrong = fast !== null && !(fast >= 0.25 && fast <= 4);
  const tooLong = input.length > speechMax && `At most ${String(speechMax)} signs at a time.`;
  const off =
    (input === '' && 'Type first what is to be said.') ||
    tooLong ||
    (voice.trim() === '' && 'Name a voice first.') ||
    (isWrong && 'The speed is not right.');
  const request = {
    model: model.id,
    input: input || 'The wheel turns.',
    voice: voice.trim(),
    ...(fast !== null && !isWrong && { speed: fast }),
  };
  const send = (): void => {
    void generation.make(input, async (models, signal) => {
      const { data, requestId } = await models.audio.createSpeech(request, { signal }).withResponse();
      const blob = new Blob([new Uint8Array(data)], { type: 'audio/mpeg' });
      return { blobs: [{ blob, name: 'speech.mp3' }], requestId };
    });
  };
  return (
    <PanelLayout
      model={model}
      select={select}
      request={{ kind: 'speech', ...request }}
      settings={
        <>
          <TextField
            label="Voice"
            hint="By the name that the model has for it."
            maxLength={100}
            value={voice}
            onValue={setVoice}
          />
          <TextField
            label="Speed"
            hint="0.25 to 4. Empty: as people speak."
            inputMode="decimal"
            value={speed}
            onValue={setSpeed}
            error={isWrong ? 'A number from 0.25 to 4.' : undefined}
          />
        </>
      }
    >
      <GenerationCard
        title="Speech"
        generation={generation}
        field={
          <TextArea
            label="What is to be said"
            hint={`${String(countCharacters(input))} of at most ${String(speechMax)} characters`}
            rows={5}
            value={text}
            onValue={setText}
            error={tooLong === false ? undefined : tooLong}
          />
        }
        cost={<Cost model={model.id} text={input} />}
        button="Speak it"
        icon={<AudioLines aria-hidden className="size-4" />}
        off={off}
        doing="Speaking…"
        onMake={send}
        what="speech"
        empty="Type what is to be said."
        show={showSpeech}
      />
    </PanelLayout>
  );
}

function Cost({ model, text }: Readonly<{ model: string; text: string }>) {
  const { mode } = useSession().place;
  const { data: price } = useModelPrice(model);
  if (mode === 'test') return <span className="text-soft">Free in test mode</span>;
  const each = price?.character_nano_usd ?? null;
  if (each === null) return null;
  return (
    <span>
      Costs <Money nano={speechPrice(BigInt(each), text)} />
    </span>
  );
}
