import { useState } from 'react';
import { CommandHint } from '../../../ui/copy.tsx';
import { TextField } from '../../../ui/field.tsx';
import { Card } from '../../../ui/page.tsx';
import { volumeIdIssue } from './volume-id.ts';
import { WriteOffButton } from '../common/write-off-button.tsx';

/** Operators have no list of volumes: the volume is named by the number that its tenant sees. */
export function LostVolumes() {
  const [text, setText] = useState('');
  const problem = volumeIdIssue(text);
  const storageVolumeId = Number(text);
  return (
    <>
      <Card
        title="Write off a volume"
        about="For a volume whose storage server never returns. Its tenant sees it as unknown and still pays for it."
      >
        <div className="flex flex-wrap items-end gap-3">
          <TextField
            label="Volume number"
            hint="The tenant sees it on the page of the volume and in: millrace volume list"
            inputMode="numeric"
            value={text}
            onValue={(value) => setText(value.trim())}
          />
          <WriteOffButton
            name={`volume ${text}`}
            off={problem}
            run={(client, request) => client.admin.volumes.writeOff({ storageVolumeId, ...request })}
          >
            <p>
              Its data and snapshots are declared lost without retention, and it is detached from its rentals.
              Charges since its storage server last answered are given back. Refused while the storage server
              answers.
            </p>
          </WriteOffButton>
        </div>
      </Card>
      <CommandHint
        command={`millrace admin volume write-off ${problem === false ? text : 'NUMBER'} --reason "…" --host-is-off`}
      />
    </>
  );
}
