/** To send to somebody: a picture, a film of the fit, a link with the points in it. */
import type { RefObject } from "preact";
import { useMemo, useState } from "preact/hooks";
import { saveBlob } from "../../core/api";
import { toLink } from "./link";
import { type Points, summary } from "./points";
import type { Frame, Run } from "./run";
import { compose, film, filmType, moments } from "./sheet";

const FRAMES_OF_FILM = 110;

interface Subject {
  panels: RefObject<HTMLDivElement | null>;
  run: Run | null;
  frame: Frame | null;
  points: Points;
  address: () => string;
  /** Shows a frame for the film. */
  onFilm: (index: number) => void;
  onFilmed: () => void;
}

export function useSharing(subject: Subject) {
  const { panels, run, frame, points } = subject;
  const kind = useMemo(filmType, []);
  const [filming, setFilming] = useState(false);
  const [copied, setCopied] = useState<string | null>(null);
  const caption = (step: number) => `flowgmm · step ${step} · ${summary(points)}`;

  const savePicture = () => {
    const sheet = document.createElement("canvas");
    if (!panels.current || !frame) return;
    compose(panels.current, sheet, caption(frame.step));
    sheet.toBlob((blob) => blob && saveBlob(blob, "flowgmm-playground.png"));
  };
  const saveFilm = async () => {
    if (!kind || !run) return;
    setFilming(true);
    const sheet = document.createElement("canvas");
    const chosen = moments(run.all.length, FRAMES_OF_FILM);
    const show = async (i: number) => {
      subject.onFilm(chosen[i]);
      await painted();
      if (panels.current) compose(panels.current, sheet, caption(run.all[chosen[i]].step));
    };
    try {
      saveBlob(await film(sheet, kind.mime, chosen.length, show), `flowgmm-playground.${kind.ending}`);
    } finally {
      setFilming(false);
      subject.onFilmed();
    }
  };
  const copyLink = async () => {
    const drawn = points.toy ? null : toLink(points);
    if (!points.toy && drawn === null) {
      setCopied("Too many points");
    } else {
      const address = `${location.origin}/${subject.address()}${drawn === null ? "" : `&points=${drawn}`}`;
      const done = await navigator.clipboard?.writeText(address).then(
        () => true,
        () => false,
      );
      setCopied(done ? "Copied" : "Not allowed");
    }
    setTimeout(() => setCopied(null), 1800);
  };
  const canFilm = kind !== null && run !== null && run.all.length > 1 && !run.live() && !filming;
  return {
    savePicture,
    saveFilm,
    copyLink,
    copied,
    filming,
    canFilm,
    canSave: frame !== null,
    canLink: points.xy.length > 0,
    films: kind !== null,
  };
}

export function SharingButtons(props: { sharing: ReturnType<typeof useSharing> }) {
  const { sharing } = props;
  return (
    <div class="sharing">
      <button type="button" class="quiet" disabled={!sharing.canSave} onClick={sharing.savePicture}>
        Save picture
      </button>
      {sharing.films && (
        <button type="button" class="quiet" disabled={!sharing.canFilm} onClick={() => void sharing.saveFilm()}>
          {sharing.filming ? "Filming…" : "Save film"}
        </button>
      )}
      <button type="button" class="quiet" disabled={!sharing.canLink} onClick={() => void sharing.copyLink()}>
        {sharing.copied ?? "Copy link"}
      </button>
    </div>
  );
}

/** The frame after the next: by then, what was set is on the canvases. */
function painted(): Promise<void> {
  return new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => go())));
}
