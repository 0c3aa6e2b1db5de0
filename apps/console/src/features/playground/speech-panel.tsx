import { AudioLines } from 'lucide-react';
import { useState } from 'react';
import { useSession } from '../../api/session.tsx';
import { TextArea, TextField } from '../../ui/field.tsx';
import { LiveCost, Money } from '../../ui/money.tsx';
import { parseNumber } from './chat.ts';
import { countCharacters, speechMax, speechPrice } from './media.ts';
import { GenerationCard } from './generation-card.tsx';
import { PanelLayout, type PanelProps } from './panel-layout.tsx';
import { useModelPrice } from './use-gateway.ts';
import { useGeneration, type OutputFile } from './use-generation.ts';

const showSpeech = ({ url }: OutputFile, about: string) => (
  // The text field above contains the transcript.
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
  const tooLong = input.length > speechMax && `Enter at most ${String(speechMax)} characters.`;
  const off =
    (input === '' && 'Enter a text.') ||
    tooLong ||
    (voice.trim() === '' && 'Enter a voice.') ||
    (isWrong && 'Correct the speed.');
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
            hint="Voice name of the model."
            maxLength={100}
            value={voice}
            onValue={setVoice}
          />
          <TextField
            label="Speed"
            hint="From 0.25 to 4. Leave empty for normal speed."
            inputMode="decimal"
            value={speed}
            onValue={setSpeed}
            error={isWrong ? 'Enter a number from 0.25 to 4.' : undefined}
          />
        </>
      }
    >
      <GenerationCard
        title="Speech"
        generation={generation}
        field={
          <TextArea
            label="Text"
            hint={`${String(countCharacters(input))} of ${String(speechMax)} characters`}
            rows={5}
            value={text}
            onValue={setText}
            error={tooLong === false ? undefined : tooLong}
          />
        }
        cost={<Cost model={model.id} text={input} />}
        button="Generate speech"
        icon={<AudioLines aria-hidden className="size-4" />}
        off={off}
        doing="Generating…"
        onMake={send}
        what="speech"
        empty="Enter a text to generate speech."
        show={showSpeech}
      />
    </PanelLayout>
  );
}

function Cost({ model, text }: Readonly<{ model: string; text: string }>) {
  const { mode } = useSession().place;
  const { data: price } = useModelPrice(model);
  const prices = mode === 'test' ? price?.live : price;
  const each = prices?.character_nano_usd ?? null;
  const amount = each === null ? null : speechPrice(BigInt(each), text);
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
